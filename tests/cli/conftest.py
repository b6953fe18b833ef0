"""What the tests of the command line share."""

from __future__ import annotations

import pytest

from bayes_lssvm.cli import main


@pytest.fixture
def run(capsys):
    """Run the command line: exit code, standard output, standard error."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        assert "Warning" not in captured.err  # Python's format of warnings
        return code, captured.out, captured.err

    return call
