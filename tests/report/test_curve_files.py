"""A curve of one's own in a report."""

import pytest

import lowlift as ll
from lowlift._cli import main
from lowlift.workflow import tradeoff_of, write_curve


def test_a_curve_that_is_given_is_shown_and_said_to_be_read(tmp_path, monkeypatch, capsys):
    joint = ll.datasets.titanic()
    ll.subset_merging(joint, ll.ALIP(0.5, 0.5)).to_json(tmp_path / "r.json")
    points = tradeoff_of(
        joint, criterion="alip", mechanisms=["watchdog"], epsilons=[0.5, 1.5], splits=[0.5]
    )
    write_curve(points, tmp_path / "curve.csv")
    files = [str(tmp_path / name) for name in ("r.json", "curve.csv", "report.html")]
    command = ["lowlift", "report", files[0], "--curve", files[1], "-o", files[2]]
    monkeypatch.setattr("sys.argv", command)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0, capsys.readouterr()
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "The points were read from curve.csv, not computed anew" in page
    assert "The curves join releases, each audited exactly" not in page
