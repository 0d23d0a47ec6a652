"""Recordings keep what touched."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.contact.reports import Contact


@pytest.fixture
def recording() -> uk.Recording:
    """Two balls, one on the ground and one that falls beside it."""
    world = uk.World()
    world.terrain = uk.Ground(restitution=0.5)
    b = uk.Builder("ball")
    b.link("body", joint=uk.Free(), mass=1.0, shapes=[uk.Box((0.1, 0.2, 0.1))])
    for name, x, z in (("a", 0.0, 0.05), ("b", 0.5, 0.1)):
        world.add(b.build(), name=name, q=(x, 0, z, 1, 0, 0, 0))
    return uk.Simulation(world, 1e-2, events=True).run(0.3)


def test_saved_contacts_come_back(recording: uk.Recording, tmp_path: Path) -> None:
    assert any(len(sample) == 2 for sample in recording.contacts)
    assert any(len(sample) == 1 for sample in recording.contacts)
    read = uk.Recording.load(recording.save(tmp_path / "run"))
    assert [len(sample) for sample in read.contacts] == [len(sample) for sample in recording.contacts]
    for before, after in zip(recording.contacts, read.contacts, strict=True):
        for a, b in zip(before, after, strict=True):
            for one in fields(Contact):
                assert np.array_equal(getattr(a, one.name), getattr(b, one.name)), one.name
            assert type(b.condition) is type(a.condition)
    assert read.events == recording.events


def test_contacts_that_do_not_fit_are_refused(recording: uk.Recording, tmp_path: Path) -> None:
    path = recording.save(tmp_path / "run.npz")
    with np.load(path) as file:
        arrays = dict(file)
    arrays["contact points"] = arrays["contact points"][:-1]
    np.savez(path, **arrays)
    with pytest.raises(uk.FileFormatError, match="contacts"):
        uk.Recording.load(path)


def test_files_without_contacts_are_read(tmp_path: Path) -> None:
    world = uk.World()
    world.add(uk.human(16), name="h")
    read = uk.Recording.load(uk.Simulation(world).run(0.01).save(tmp_path / "run"))
    assert [c for sample in read.contacts for c in sample] == []
