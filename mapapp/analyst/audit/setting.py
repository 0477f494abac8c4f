"""A setting to audit before anything is released, from the options of `synthesize`."""

from __future__ import annotations

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.store.store import Store
from mapapp.analyst.audit.audited import Audited, audited_setting
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.base.errors import UsageError
from mapapp.kinds.release.choose.public_part import read_public_part
from mapapp.kinds.release.choose.setting_choice import choose_setting
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.settings import designed_choice, parameters_of

__all__ = ["chosen_parameters", "chosen_setting"]


def chosen_setting(data: AnalystData, name: str, options: ReleaseOptions) -> Audited:
    """Make the setting that some options ask for, with what `--design auto` leaves open chosen from public data.

    Parameters
    ----------
    data : AnalystData
    name : str
        For tables and sentences.
    options : ReleaseOptions

    Raises
    ------
    UsageError, EngineError
        Options contradict each other, a value is outside its range, or the setting cannot be certified.
    """
    if options.prior_release is not None:
        raise UsageError(
            f"--setting {name}: prior-release is not for an audit of a setting; make the release, and audit it"
        )
    return audited_setting(data, name, *chosen_parameters(data.store, options))


def chosen_parameters(store: Store, options: ReleaseOptions) -> tuple[PrivacyParameters, SynthesisParameters]:
    """Make the parameters that some options ask for, with what `--design auto` leaves open chosen from public data.

    Raises
    ------
    UsageError, EngineError
        As :func:`chosen_setting`.
    """
    privacy, parameters = parameters_of(store.path, options)
    design = designed_choice(options)
    if design is not None:
        public = read_public_part(store, design.units)
        privacy, parameters, _ = choose_setting(public, privacy, parameters, design)
    return privacy, parameters
