"""The table of cloud instances."""

from hardware_catalog.catalogue import all_instances, rented_gpus


def test_rented_devices_are_those_of_the_parsed_table() -> None:
    assert rented_gpus() == {instance.gpu for instance in all_instances()}
