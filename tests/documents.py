"""The tables and lines of the documents that hold a number, quoted as they stand."""

from __future__ import annotations

import re

D0_MODE_WEIGHTS = """
| source | plan | execute | debug | chat |
|--------|------|---------|-------|------|
| task | 1.0 | 1.2 | 1.0 | 0.8 |
| learning | 0.8 | 1.0 | 1.5 | 0.6 |
| event | 0.5 | 0.8 | 1.5 | 0.3 |
| okr | 1.5 | 0.5 | 0.3 | 1.0 |
"""

D0_LAYERS = """
| 记忆层 | Cecelia 数据源 | 检索方式 | 衰减策略 |
|--------|---------------|---------|---------|
| **语义记忆** (Semantic) | tasks + learnings | 向量搜索 | tasks: 半衰期 30 天, learnings: 90 天 |
| **事件记忆** (Episodic) | cecelia_events | 时间窗口 + type 过滤 | 24h 窗口（debug 模式 72h） |
| **画像配置** (Profile) | goals (OKR) + capabilities + 系统配置 | 直接加载（不搜索） | 不衰减 |
"""

D0_HALF_LIVES = """
| source | HALF_LIFE |
|---|---|
| task | 30 |
| learning | 90 |
| event | 1 |
| okr | Infinity |
| capability | Infinity |
"""

D0_EVENTS = """
  const hours = mode === 'debug' ? 72 : 24;
      AND type IN ('task_failed', 'task_completed', 'alert', 'layer2_health', 'escalation')
    ORDER BY created_at DESC
    LIMIT 10
    relevance: 0.5, // 事件基础分，靠 modeWeight 调节
"""

D0_SELECTION = """
function simpleDedup(scored, threshold = 0.8) {
function mmrRerank(candidates, topK, lambda = 0.7) {
| 搜索结果多样性 | 可能 3 条重复 | top 5 结果两两 Jaccard < 0.8 |
"""

D4_IMPORTANCES = """
| 类型 | 说明 | 示例 | 重要性权重 |
|------|------|------|-----------|
| **偏好** | 用户的主观喜好 | "喜欢TypeScript"、"偏好简洁代码" | 0.9 |
| **事实** | 客观的用户信息 | "正在开发MJ Studio"、"使用Nuxt 4" | 0.8 |
| **教训** | 失败经验和解决方案 | "Docker需要代理才能构建" | 0.85 |
| **目标** | 用户的待办和计划 | "计划添加视频生成功能" | 0.7 |
| **情境** | 临时的上下文信息 | "刚才提到的那个API" | 0.4 |
"""

D4_KINDS = {
    "preference": "偏好",
    "fact": "事实",
    "lesson": "教训",
    "goal": "目标",
    "context": "情境",
}


D1_SCORE = """
        days_since_access = (
            datetime.now() - memory.last_accessed_at
        ).days if memory.last_accessed_at else 365
        time_decay = np.exp(-days_since_access / 30)  # 30天半衰期
        score = (
            cosine_similarity * 0.6 +
            time_decay * 0.2 +
            memory.importance_score * 0.2
        )
        k: int = 10,
"""

D2_SCORE = """
        1. 关键词匹配 (40% 权重)
           - 精确匹配: 1.0 分
           - 前缀匹配: 0.8 分
           - 同义词匹配: 0.7 分
        2. 文本相似度 (40% 权重)
        3. 时间衰减 (20% 权重)
        half_life_days: float = 30.0
        age_days = (datetime.utcnow() - created_at).days
        decay_factor = 0.5 ** (age_days / half_life_days)
        return base_score * (0.5 + 0.5 * decay_factor)  # 保留至少50%分数
        1. 基础相关性分数 (70%)
        2. 用户交互历史 (20%) - 被召回次数、上次访问时间
        3. 记忆类型优先级 (10%) - user_preference > command_output > general
    min_relevance_score: float = Field(
        default=0.6,
"""

D3_SCORE = """
    semantic = cosine_similarity(memory.embedding, query_embedding)
    days_old = (now - memory.last_accessed).days
    decay = math.exp(-0.05 * days_old)  # 14 天衰减到 50%
    return semantic * memory.salience * decay
MEMORY_IMPLICIT_RECALL_TOP_K=3        # 隐式召回数量
"""

D4_RECALL = """
| 配置项 | 值 | 理由 |
|--------|-----|------|
| **召回数量** | Top-3 | 避免噪声，聚焦最相关的记忆 |
| **查询增强** | 当前消息 + 最近 3 条上下文 | 提升召回准确性 |
| **时序过滤** | 只返回有效记忆 | 避免过时信息干扰 |
| **相关性阈值** | 0.7 | 低于此分数的记忆不注入 |
"""


D4_LIFETIMES = """
| 维度 | 生命周期 | 遗忘策略 |
|------|---------|---------|
| **核心记忆** | 长期（永久） | 不遗忘，除非用户删除 |
| **工作记忆** | 中期（30天） | 按访问频率衰减 |
| **临时记忆** | 短期（7天） | 快速衰减 |
"""

D4_FORGETTING = """
相关性 = 时间衰减系数 × (1 + 访问频率权重) × 重要性权重
- 时间衰减系数 = exp(-0.01 × 天数)
- 访问频率权重 = log(1 + 访问次数)
- 重要性权重 = importance (0-1)
- 相关性 < 0.1：标记为已遗忘
- 相关性 < 0.3：降低重要性评分
- 相关性 > 0.7：视为活跃记忆
"""

D3_ARCHIVE = """
- **30 天后**：LLM 生成摘要 → 重要内容提升为长期记忆
- **60 天后**：删除原始日志文件
"""


def table(markdown: str) -> list[list[str]]:
    """The cells of a Markdown table without its rule, header first."""
    rows = [line.strip("| ").split(" | ") for line in markdown.strip().splitlines()]
    return [[cell.strip("* ") for cell in row] for row in rows if not row[0].startswith("--")]


def number(text: str, before: str) -> float:
    """The number that follows some words of a document."""
    return float(re.search(re.escape(before) + r"([\d.]+)", text)[1])
