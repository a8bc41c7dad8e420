// main.mjs AGENTGW: two agents on two frameworks do one task twice each, in four wordings. There is one refund.
import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { langgraphAgent } from './langgraph.mjs'
import { scriptedModel } from './model.mjs'
import { openaiAgent } from './openai-agents.mjs'

const here = dirname(fileURLToPath(import.meta.url))
for (const file of readdirSync(join(here, 'clients')).filter(f => f.endsWith('.json'))) {
  const { mcpServers, servers } = JSON.parse(readFileSync(join(here, 'clients', file), 'utf8'))
  for (const [name, s] of Object.entries(mcpServers ?? servers)) {
    const url = s.url ?? s.serverUrl
    if (url ? url !== 'http://127.0.0.1:8080/mcp' : s.command !== 'agentgw' || s.args[0] !== 'mcp') throw new Error(`clients/${file}: ${name} does not lead to agentgw`)
  }
}
const folder = mkdtempSync(join(tmpdir(), 'agents-'))
cpSync(join(here, 'gateway'), join(folder, 'gateway'), { recursive: true })
cpSync(join(here, 'shop.mjs'), join(folder, 'shop.mjs'))
// The ports of the configuration may be taken on this machine: any will do.
const free = () => new Promise(done => { const s = createServer().listen(0, '127.0.0.1', () => { const { port } = s.address(); s.close(() => done(port)) }) })
const [agents, operators] = [await free(), await free()]
const config = join(folder, 'gateway', 'agentgw.yaml')
writeFileSync(config, readFileSync(config, 'utf8').replace(':8080', ':' + agents).replace(':8081', ':' + operators))
const refunds = join(folder, 'refunds.jsonl')
const gateway = spawn(process.argv[2], ['serve'], { cwd: join(folder, 'gateway'), env: { ...process.env, REFUNDS: refunds }, stdio: ['ignore', 'ignore', 'inherit'] })
const ended = new Promise(done => gateway.on('exit', done))
const model = await scriptedModel()
let bad = true
try {
  for (let i = 0; ; i++) {
    try { await fetch(`http://127.0.0.1:${operators}/healthz`); break } catch { if (i > 200) throw new Error('the gateway does not start') }
    await new Promise(r => setTimeout(r, 50))
  }
  const task = 'The lamp of order A-1042 is broken. I want my 50 dollars back.'
  for (const [name, agent] of [['OpenAI Agents SDK', openaiAgent], ['LangGraph', langgraphAgent]]) {
    for (const time of ['first', 'second']) console.log(`${name}, ${time} time: ${await agent(`http://127.0.0.1:${agents}/mcp`, model.url, task)}`)
  }
  const lines = existsSync(refunds) ? readFileSync(refunds, 'utf8').trim().split('\n') : []
  console.log(`${model.seen.length} calls by agents, ${lines.length} refund: ${lines}`)
  bad = lines.length !== 1 || model.seen.length !== 4 || model.seen.some(s => !s.includes('refunded 50 for A-1042'))
} finally {
  model.close()
  gateway.kill()
  await ended
  rmSync(folder, { recursive: true, force: true })
}
process.exit(bad ? 1 : 0)
