"""Leave-one-out in closed form and Allen's PRESS with Bayesian regularisation (paper 1).

Module by module:

    leave_one_out   residuals, predictions and variances of left-out points: `leave_one_out`, `LeaveOneOutSpectrum`
    criterion       PRESS and its regularised forms as functions of the kernel and γ: `PressObjective`
    derivative      their derivatives: of PRESS in the kernel matrix; `curvature` of the penalty of the same name
    descent         one descent from one start; `pruning` removes inputs on the way
    selection       the kernel and γ of the least criterion, from several starts: `select_by_press`
    evidence        ξ and ζ by the evidence instead of integrating them out: `optimise_xi_zeta`
"""
