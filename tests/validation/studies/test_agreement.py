"""Four ways to the same posterior agree: the study at toy size, and its cheaper cells in full."""

from __future__ import annotations

import json

import pytest

from validation.studies.agreement import CELLS, main, run, table


def test_a_cell_of_each_program_at_toy_size(tmp_path, capsys):
    output = tmp_path / "agreement.json"
    assert main(["ripley", "linear", "weight", "--draws", "500", "--output", str(output)]) == 0
    (found,) = json.loads(output.read_text())
    assert found["cell"] == "ripley linear, weight space"
    assert "| ripley linear, weight space |" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["nothing like it"])
    assert "there are: ripley linear, collapsed" in capsys.readouterr().err


def test_every_data_set_and_kernel_is_there():
    names = {cell.name for cell in CELLS}
    for kernel in ("linear", "poly3", "rbf"):
        assert {f"ripley {kernel}, {program}" for program in ("collapsed", "weight space", "gp")} <= names
        assert f"pima {kernel}, collapsed" in names
    assert "ripley rbf free, gp" in names


CHEAP = [cell for cell in CELLS if cell.program == "collapsed" or (cell.program == "weight space" and cell.centred)]


@pytest.mark.slow
@pytest.mark.parametrize("cell", CHEAP, ids=lambda cell: cell.name)
def test_samplers_agree_with_quadrature(cell):
    found = run(cell, seed=0, progress=False)
    assert found.diagnostics_ok
    assert found.worst < 4.0, table([found])
    assert found.log_z_score < 3.0, table([found])
    assert found.log_z_error <= (0.005 if cell.program == "collapsed" else 0.02)
