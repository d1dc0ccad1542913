"""Settings of all tests. Machines are shared and noisy: no property test is judged by the clock."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")


@pytest.fixture(autouse=True)
def own_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands that a test runs keep their results among the test's files, never in somebody's home."""
    monkeypatch.setenv("PREFLIGHT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "kept"))
