"""Keys and tokens of the shapes that vendors use, with nothing in them.

They are put together here, so that no scanner takes a file of the repository for a leak.
"""

from __future__ import annotations

import itertools

_ALPHABET = "aB3dE5gH7jK9mN2pQ4sT6vW8xY1z"


def filling(length: int, alphabet: str = _ALPHABET) -> str:
    """Return so many characters that are obviously made up."""
    return "".join(itertools.islice(itertools.cycle(alphabet), length))


def _hex(length: int) -> str:
    return filling(length, "0a1b2c3d4e5f6789")


def _upper(length: int) -> str:
    return filling(length, "ABCDEFGHJKLMNPQR234567")


_PEM = "-" * 5

SHAPES: tuple[tuple[str, str], ...] = (
    ("private_key", f"{_PEM}BEGIN RSA PRIVATE KEY{_PEM}\n{filling(64)}\n{filling(64)}\n"),
    ("private_key", f"{_PEM}BEGIN OPENSSH PRIVATE KEY{_PEM}\n{filling(70)}\n"),
    ("private_key", f'"{_PEM}BEGIN PRIVATE KEY{_PEM}\\n{filling(64)}\\n"'),
    ("private_key", f"  > {_PEM}BEGIN EC PRIVATE KEY{_PEM}\n  > {filling(64)}\n"),
    (
        "private_key",
        f"{_PEM}BEGIN RSA PRIVATE KEY{_PEM}\nProc-Type: 4,ENCRYPTED\nDEK-Info: A\n\n{filling(64)}",
    ),
    ("private_key", f"{_PEM}BEGIN PGP PRIVATE KEY BLOCK{_PEM}\n\n{filling(64)}\n"),
    ("private_key", "AGE-SECRET-" + "KEY-1" + _upper(58)),
    ("jwt", ".".join(("eyJ" + filling(20), "eyJ" + filling(30), filling(43)))),
    ("aws_key", "AKIA" + _upper(16)),
    ("aws_key", "ASIA" + _upper(16)),
    *(("github_token", f"gh{sort}_" + filling(36)) for sort in "pousr"),
    ("github_token", "github_" + "pat_" + filling(22) + "_" + filling(59)),
    ("github_token", "ghp_" + "A" * 36),
    ("gitlab_token", "gl" + "pat-" + filling(20)),
    ("gitlab_token", "gl" + "rt-" + filling(24)),
    ("bitbucket_or_atlassian_token", "ATA" + "TT3" + filling(180)),
    ("bitbucket_or_atlassian_token", "ATB" + "B" + filling(32)),
    ("slack_token", "xo" + "xb-" + "123456789012-" + filling(24)),
    ("slack_token", "xa" + "pp-1-A0123456789-1234567890-" + _hex(64)),
    ("slack_token", "https://hooks.slack" + ".com/services/T0ABCDEFG/B0ABCDEFG/" + filling(24)),
    ("discord_token", "https://discord" + ".com/api/webhooks/123456789012345678/" + filling(68)),
    ("discord_token", "M" + filling(23) + "." + filling(6) + "." + filling(38)),
    ("telegram_token", "1234567890:" + "AA" + filling(33)),
    ("chat_webhook", "https://oapi.dingtalk" + ".com/robot/send?access_token=" + _hex(64)),
    ("chat_webhook", "https://qyapi.weixin" + ".qq.com/cgi-bin/webhook/send?key=" + _hex(36)),
    ("chat_webhook", "https://open.feishu" + ".cn/open-apis/bot/v2/hook/" + _hex(36)),
    ("stripe_key", "sk_" + "live_" + filling(24)),
    ("stripe_key", "rk_" + "test_" + filling(24)),
    ("stripe_key", "wh" + "sec_" + filling(32)),
    ("anthropic_key", "sk-" + "ant-api03-" + filling(95)),
    ("openai_key", "sk-" + "proj-" + filling(64)),
    ("openai_key", "sk-" + filling(48)),
    ("openai_key", "sk-" + "or-v1-" + _hex(64)),
    ("model_provider_key", "hf" + "_" + filling(34)),
    ("model_provider_key", "gsk" + "_" + filling(52)),
    ("model_provider_key", "pplx" + "-" + filling(48)),
    ("model_provider_key", "nvapi" + "-" + filling(64)),
    ("google_key", "AI" + "za" + filling(35)),
    ("google_key", "GOC" + "SPX-" + filling(28)),
    ("google_key", "ya" + "29." + filling(60)),
    ("azure_key", "AccountName=a;Account" + "Key=" + filling(86) + "=="),
    ("azure_key", "https://a.blob.test/c?sv=1&" + "sig=" + filling(44)),
    ("azure_key", filling(3) + "8Q~" + filling(34)),
    ("chinese_cloud_key", "LT" + "AI" + filling(20)),
    ("chinese_cloud_key", "AK" + "ID" + filling(32)),
    ("chinese_cloud_key", "AK" + "LT" + filling(44)),
    ("package_registry_token", "np" + "m_" + filling(36)),
    ("package_registry_token", "py" + "pi-AgEIcHlwaS5vcmc" + filling(60)),
    ("package_registry_token", "ruby" + "gems_" + _hex(48)),
    ("package_registry_token", "dckr" + "_pat_" + filling(27)),
    ("mail_or_message_key", "S" + "G." + filling(22) + "." + filling(43)),
    ("mail_or_message_key", "key" + "-" + _hex(32)),
    ("mail_or_message_key", _hex(32) + "-us" + "12"),
    ("mail_or_message_key", "S" + "K" + _hex(32)),
    ("commerce_token", "shp" + "at_" + _hex(32)),
    ("commerce_token", "sq0" + "csp-" + filling(43)),
    ("hosting_token", "do" + "p_v1_" + _hex(64)),
    ("hosting_token", "sb" + "p_" + _hex(40)),
    ("hosting_token", "ps" + "cale_pw_" + filling(43)),
    ("hosting_token", "ts" + "key-auth-" + filling(12) + "-" + filling(32)),
    ("infrastructure_token", "hv" + "s." + filling(24)),
    ("infrastructure_token", filling(14) + ".atlas" + "v1." + filling(67)),
    ("infrastructure_token", "gl" + "sa_" + filling(32) + "_" + _hex(8)),
    ("infrastructure_token", "NR" + "AK-" + _upper(27)),
    ("infrastructure_token", "da" + "pi" + _hex(32)),
    ("infrastructure_token", "dp" + ".pt." + filling(43)),
    ("work_tool_token", "lin" + "_api_" + filling(40)),
    ("work_tool_token", "nt" + "n_" + filling(46)),
    ("work_tool_token", "fig" + "d_" + filling(40)),
    ("work_tool_token", "PM" + "AK-" + _hex(24) + "-" + _hex(34)),
    ("work_tool_token", "pat" + filling(14) + "." + _hex(64)),
)
"""Each shape's rule, and a text of it."""
