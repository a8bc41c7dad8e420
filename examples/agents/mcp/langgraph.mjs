// An agent on LangGraph whose tools come from agentgw.
import { createReactAgent } from '@langchain/langgraph/prebuilt'
import { MultiServerMCPClient } from '@langchain/mcp-adapters'
import { ChatOpenAI } from '@langchain/openai'

export async function langgraphAgent(mcpURL, modelURL, task) {
  const client = new MultiServerMCPClient({ mcpServers: { shop: { transport: 'http', url: mcpURL } } })
  try {
    const llm = new ChatOpenAI({ model: process.env.OPENAI_MODEL ?? 'scripted', apiKey: process.env.OPENAI_API_KEY ?? 'none', configuration: { baseURL: modelURL }, useResponsesApi: false })
    const agent = createReactAgent({ llm, tools: await client.getTools() })
    const { messages } = await agent.invoke({ messages: [{ role: 'user', content: task }] })
    return messages.at(-1).content
  } finally {
    await client.close()
  }
}
