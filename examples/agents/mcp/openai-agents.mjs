// An agent on the OpenAI Agents SDK whose tools come from agentgw.
import { Agent, MCPServerStreamableHttp, run, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled } from '@openai/agents'
import OpenAI from 'openai'

export async function openaiAgent(mcpURL, modelURL, task) {
  setTracingDisabled(true)
  setOpenAIAPI('chat_completions')
  setDefaultOpenAIClient(new OpenAI({ baseURL: modelURL, apiKey: process.env.OPENAI_API_KEY ?? 'none' }))
  const shop = new MCPServerStreamableHttp({ url: mcpURL, name: 'shop' })
  await shop.connect()
  try {
    const agent = new Agent({ name: 'support', model: process.env.OPENAI_MODEL ?? 'scripted', instructions: 'You work for a shop.', mcpServers: [shop] })
    return (await run(agent, task)).finalOutput
  } finally {
    await shop.close()
  }
}
