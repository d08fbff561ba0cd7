"""Words of two languages with the uneven frequencies of real notes, from a seed."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

_EN = (
    "the service must use config when build and test run on deploy with user data for server of "
    "in to is a from by not be that after before file database cache error request client token "
    "queue worker schema index migration release branch version port host timeout retry volume"
)
_ZH = (
    "配置 服务 数据库 部署 测试 构建 缓存 端口 超时 重试 队列 索引 迁移 发布 分支 版本 用户 请求 "
    "错误 日志 权限 接口 文件 目录 必须 不要 使用 之后 之前 因为 所以 项目 环境 变量 容器 磁盘"
)
_ONSETS = "b br c cl d dr f fl g gr h j k l m n p pr qu r s sh st t tr v w z"
_ENDS = "ck d l m n nd r rs s st t x"
_HAN = (
    "主从备份恢复节点集群网关代理路由限流熔断降级监控告警链路追踪采样压测灰度回滚热更冷启线程进程协程"
    "锁等待死循环内存泄漏溢出编码解析序列反射注解模板渲染前端后端中间件消息订阅消费幂等事务隔离级别"
)
_RARE = 4000

COMMON_EN = tuple(_EN.split())
COMMON_ZH = tuple(_ZH.split())
_BEGINNINGS = tuple(_ONSETS.split())
_MIDDLES = ("a", "e", "i", "o", "u", "ai", "ea", "io", "ou")
_ENDINGS = tuple(_ENDS.split())


@dataclass(frozen=True, slots=True)
class Words:
    """Two vocabularies, common words first, with the running sums of their frequencies."""

    en: tuple[str, ...]
    zh: tuple[str, ...]
    en_weights: tuple[float, ...]
    zh_weights: tuple[float, ...]

    @classmethod
    def of(cls, rng: random.Random) -> Words:
        """Make vocabularies whose frequencies fall as their rank rises (Zipf)."""
        rare = (_made_up(rng) for _ in range(_RARE))
        en = tuple(dict.fromkeys((*COMMON_EN, *rare)))
        pairs = (rng.choice(_HAN) + rng.choice(_HAN) for _ in range(_RARE // 2))
        zh = tuple(dict.fromkeys((*COMMON_ZH, *pairs)))
        return cls(en, zh, _zipf(len(en)), _zipf(len(zh)))

    def english(self, rng: random.Random, count: int) -> list[str]:
        """Return words of English prose, code words among them."""
        return rng.choices(self.en, cum_weights=self.en_weights, k=count)

    def chinese(self, rng: random.Random, count: int) -> list[str]:
        """Return words of Chinese prose."""
        return rng.choices(self.zh, cum_weights=self.zh_weights, k=count)


def _made_up(rng: random.Random) -> str:
    word = "".join(
        rng.choice(_BEGINNINGS) + rng.choice(_MIDDLES) for _ in range(rng.choice((1, 2, 2)))
    ) + rng.choice(_ENDINGS)
    shape = rng.random()
    if shape < 0.8:
        return word
    other = rng.choice(COMMON_EN)
    if shape < 0.9:
        return f"{word}_{other}"
    return f"{word}{other.capitalize()}" if shape < 0.97 else f"src/{word}/{other}.py"


def _zipf(count: int) -> tuple[float, ...]:
    return tuple(itertools.accumulate(1 / (rank + 2) for rank in range(count)))
