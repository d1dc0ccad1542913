"""The Helm chart, rendered by Helm's own code and held to Kubernetes' schemas."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from bot.__main__ import main
from bot.observability.metrics import Metrics
from bot.settings import Settings
from tests.deploy.files import DEPLOY, ROOT

helm = pytest.importorskip("helm_python", reason="helm_python comes with the deploy extra")
kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="it comes with the deploy extra")

Manifest = dict[str, Any]

LEAST: Manifest = {
    "image": {"repository": "registry.example.org/preflight"},
    "github": {"appId": 12345678},
    "secrets": {"app": {"name": "preflight-app"}, "database": {"name": "preflight-database"}},
}
ALL: Manifest = {
    **LEAST,
    "image": {"repository": "registry.example.org/preflight", "digest": "sha256:" + "a" * 64},
    "imagePullSecrets": [{"name": "registry"}],
    "secrets": {
        "app": {"name": "preflight-app", "clientSecret": "client"},
        "database": {"name": "preflight-database"},
        "migrations": {"name": "preflight-owner", "url": "dsn"},
    },
    "settings": {"PREFLIGHT_CLIENT_ID": "Iv23", "PREFLIGHT_PUBLIC_URL": "https://preflight.example.org"},
    "web": {"replicas": 1, "nodeSelector": {"pool": "small"}, "tolerations": [{"operator": "Exists"}]},
    "worker": {"replicas": 5, "autoscaling": {"enabled": False}, "affinity": {"nodeAffinity": {}}},
    "ingress": {
        "enabled": True,
        "className": "nginx",
        "host": "preflight.example.org",
        "tlsSecret": "preflight-tls",
        "pages": True,
    },
    "networkPolicy": {
        "receiveFrom": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ingress"}}}],
        "database": {"port": 6432, "to": [{"ipBlock": {"cidr": "10.0.0.5/32"}}]},
        "github": {"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]},
    },
}
NOTHING_OPTIONAL: Manifest = {
    **LEAST,
    "networkPolicy": {"enabled": False},
    "podDisruptionBudget": {"enabled": False},
    "worker": {"autoscaling": {"enabled": False}},
    "scrape": False,
}
CHOICES = {"least": LEAST, "all": ALL, "nothing optional": NOTHING_OPTIONAL}
KUBERNETES = ("1.27", "1.30", "1.34")


def rendered(values: Manifest) -> list[Manifest]:
    with helm.Chart.load(str(DEPLOY / "helm")) as chart:
        files = chart.render(values, name="demo", namespace="prod")
    return [
        manifest
        for name, text in files.items()
        if name.endswith(".yaml")
        for manifest in yaml.safe_load_all(text)
        if manifest is not None
    ]


def the(kind: str, values: Manifest, name: str = "") -> Manifest:
    (found,) = (each for each in rendered(values) if each["kind"] == kind and each["metadata"]["name"].endswith(name))
    return found


def pods(values: Manifest) -> Iterator[tuple[str, Manifest]]:
    for manifest in rendered(values):
        if manifest["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield manifest["kind"], manifest["spec"]["template"]


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("values", CHOICES.values(), ids=CHOICES)
def test_every_object_is_one_of_kubernetes(values: Manifest, version: str) -> None:
    manifests = rendered(values)
    assert len({(each["kind"], each["metadata"]["name"]) for each in manifests}) == len(manifests)
    for manifest in manifests:
        kubernetes_validate.validate(manifest, version, strict=True)


def test_helm_has_nothing_to_say_but_that_there_is_no_icon() -> None:
    with helm.Chart.load(str(DEPLOY / "helm")) as chart:
        chart.validate_schema(LEAST)
        messages = helm.lint(str(DEPLOY / "helm"), LEAST)["messages"]
    assert [each["error"] for each in messages] in ([], ["icon is recommended"])


WRONG = {
    "no App": ("github", {"appId": 0}),
    "an App's id as text": ("github", {"appId": "12"}),
    "no encryption to GitHub": ("github", {"appId": 1, "apiUrl": "http://api.github.com"}),
    "no image": ("image", {"repository": ""}),
    "an image that moves": ("image", {"repository": "x", "tag": "latest"}),
    "a secret by value": ("secrets", {**LEAST["secrets"], "app": {"name": "a", "privateKeyPem": "-----BEGIN"}}),
    "a secret among the settings": ("settings", {"PREFLIGHT_PRIVATE_KEY": "-----BEGIN"}),
    "a name for all workers": ("settings", {"PREFLIGHT_EXECUTOR_ID": "worker"}),
    "a number as setting": ("settings", {"PREFLIGHT_ANALYSIS_SECONDS": 60}),
    "an unknown value": ("workers", {"replicas": 3}),
    "too little time to end": ("worker", {"terminationGracePeriodSeconds": 5}),
    "an ingress for nobody": ("ingress", {"enabled": True}),
}


@pytest.mark.parametrize(("key", "value"), WRONG.values(), ids=WRONG)
def test_wrong_values_are_refused_before_anything_is_installed(key: str, value: Manifest) -> None:
    values = copy.deepcopy(LEAST) | {key: value}
    with pytest.raises(helm.HelmError), helm.Chart.load(str(DEPLOY / "helm")) as chart:
        chart.render(values, name="demo", namespace="prod")


@pytest.mark.parametrize("values", CHOICES.values(), ids=CHOICES)
def test_every_container_is_confined(values: Manifest) -> None:
    for kind, pod in pods(values):
        assert pod["spec"]["automountServiceAccountToken"] is False, kind
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
        assert pod["spec"]["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["spec"]["containers"]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] is True
            assert security["allowPrivilegeEscalation"] is False
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]
            writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
            assert writable == {"/tmp", "/var/lib/preflight"}


def test_secrets_come_by_reference_and_as_files() -> None:
    for kind, pod in pods(ALL):
        (container,) = pod["spec"]["containers"]
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert "PREFLIGHT_PRIVATE_KEY" not in environment
        assert "PREFLIGHT_WEBHOOK_SECRET" not in environment
        assert environment["PREFLIGHT_DATABASE_URL"] == "", "or the image's own would count"
        volumes = {volume["name"]: volume.get("secret") for volume in pod["spec"]["volumes"]}
        mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        files = {
            f"{mounted[name]}/{item['path']}": (secret["secretName"], item["key"])
            for name, secret in volumes.items()
            if secret
            for item in secret["items"]
        }
        database = ("preflight-owner", "dsn") if kind == "Job" else ("preflight-database", "url")
        app = {
            "PREFLIGHT_PRIVATE_KEY_FILE": ("preflight-app", "private-key"),
            "PREFLIGHT_WEBHOOK_SECRET_FILE": ("preflight-app", "webhook-secret"),
            "PREFLIGHT_CLIENT_SECRET_FILE": ("preflight-app", "client"),
        }
        given = {name: files[path] for name, path in environment.items() if name.endswith("_FILE") and path}
        # Who migrates the database has no use for the App's secrets.
        assert given == {"PREFLIGHT_DATABASE_URL_FILE": database, **(app if kind != "Job" else {})}
        assert set(files.values()) == set(given.values()), "nothing is mounted that is not read"


def test_commands_and_settings_are_ones_that_preflight_bot_knows(capsys: pytest.CaptureFixture[str]) -> None:
    known = {f"PREFLIGHT_{field.upper()}" for field in Settings.model_fields}
    for _, pod in pods(ALL):
        (container,) = pod["spec"]["containers"]
        assert {each["name"].removesuffix("_FILE") for each in container["env"]} <= known
        with pytest.raises(SystemExit) as ended:
            main([*container["args"], "--help"])
        assert ended.value.code == 0
    capsys.readouterr()


def test_workers_keep_their_names_and_the_names_are_their_executor_ids() -> None:
    worker = the("StatefulSet", LEAST)
    assert the("Service", LEAST, worker["spec"]["serviceName"])["spec"]["clusterIP"] == "None"
    environment = {each["name"]: each for each in worker["spec"]["template"]["spec"]["containers"][0]["env"]}
    source = environment["PREFLIGHT_EXECUTOR_ID"]["valueFrom"]
    assert source == {"fieldRef": {"fieldPath": "metadata.name"}}


def test_workers_are_added_by_a_figure_that_there_is() -> None:
    scaler = the("HorizontalPodAutoscaler", LEAST)["spec"]
    worker = the("StatefulSet", LEAST)
    assert scaler["scaleTargetRef"] == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "name": worker["metadata"]["name"],
    }
    assert "replicas" not in worker["spec"], "or each upgrade would undo what the scaler did"
    assert f"# TYPE {scaler['metrics'][0]['external']['metric']['name']} gauge" in Metrics().text().decode()
    assert the("StatefulSet", ALL)["spec"]["replicas"] == 5


@pytest.mark.parametrize("values", [LEAST, ALL], ids=["least", "all"])
def test_whatever_selects_pods_finds_some(values: Manifest) -> None:
    labels = [pod["metadata"]["labels"] for _, pod in pods(values)]
    selectors = [
        selector
        for manifest in rendered(values)
        for selector in (
            manifest["spec"].get("podSelector", manifest["spec"].get("selector")) if "spec" in manifest else None,
        )
        if selector
    ]
    assert len(selectors) >= 8
    for selector in selectors:
        wanted = selector.get("matchLabels", selector)
        assert sum(wanted.items() <= each.items() for each in labels) == 1


def test_the_network_is_closed_but_for_the_database_names_and_github() -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in rendered(ALL) if each["kind"] == "NetworkPolicy"}
    assert set(policies) == {"demo-preflight-web", "demo-preflight-worker", "demo-preflight-migrate"}
    for name, policy in policies.items():
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}
        assert ports == ({53, 6432} if name.endswith("migrate") else {53, 443, 6432})
        assert all("to" in rule for rule in policy["egress"] if rule["ports"][0]["port"] != 53)
    assert policies["demo-preflight-migrate"]["ingress"] == []
    assert policies["demo-preflight-web"]["ingress"][0]["from"] == ALL["networkPolicy"]["receiveFrom"]


def test_tables_are_brought_up_to_date_before_the_new_processes_start() -> None:
    annotations = the("Job", LEAST)["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "pre-install,pre-upgrade"


def test_a_budget_never_forbids_to_drain_a_node() -> None:
    for values in (LEAST, ALL):
        budget = the("PodDisruptionBudget", values, "web")["spec"]
        assert budget.get("minAvailable", 0) < the("Deployment", values)["spec"]["replicas"]


def test_workers_get_longer_to_end_than_they_give_their_jobs() -> None:
    from bot.jobs.queue import DRAIN_SECONDS

    assert the("StatefulSet", LEAST)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > DRAIN_SECONDS


def test_the_chart_installs_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    chart = yaml.safe_load((DEPLOY / "helm" / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == project["project"]["version"]
    assert the("Deployment", LEAST)["spec"]["template"]["spec"]["containers"][0]["image"].endswith(chart["appVersion"])
    assert "@sha256:" in the("Deployment", ALL)["spec"]["template"]["spec"]["containers"][0]["image"]
