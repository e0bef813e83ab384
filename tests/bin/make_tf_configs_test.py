"""kt-make-tf-configs, whose output kt-trainer reads."""

import pytest
from commands import assert_fails
from commands import call

from keras_transformer.bin import make_tf_configs
from keras_transformer.training.backends.cluster import Cluster
from keras_transformer.training.backends.cluster import read_cluster


class MakeTfConfigsTest:
    def test_each_machine_reads_its_line(self, capsys, monkeypatch):
        assert call(make_tf_configs, "--hosts=10.0.0.1,b:3") == 0
        for index, line in enumerate(capsys.readouterr().out.splitlines()):
            monkeypatch.setenv("TF_CONFIG", line)
            assert read_cluster() == Cluster(2, index, "10.0.0.1:2222")
        assert index == 1
        assert call(make_tf_configs, "--hosts=10.0.0.1,b:3", "--index=1") == 0
        assert capsys.readouterr().out == f"{line}\n"

    def test_an_address_of_ipv6_gets_a_port_too(self, capsys):
        assert call(make_tf_configs, "--hosts=[::1],[fe80::2]:3") == 0
        line, _ = capsys.readouterr().out.splitlines()
        assert '{"worker": ["[::1]:2222", "[fe80::2]:3"]}' in line

    @pytest.mark.parametrize(
        "flags, word",
        [
            (["--hosts=a,"], "--hosts=a,"),
            (["--hosts=a,b,a:2222"], "each machine once"),
            (["--hosts=a,b:"], "as HOST or HOST:PORT"),
            (["--hosts=a,::1"], "put an IPv6 address in brackets"),
            (["--hosts=a,b:x"], "Received: --hosts=a,b:x,"),
            (["--hosts=a,b", "--index=2"], "--index=2"),
            ([], "`--hosts` must be given"),
        ],
    )
    def test_a_machine_must_exist(self, capsys, flags, word):
        assert_fails(capsys, [word], make_tf_configs, *flags)
