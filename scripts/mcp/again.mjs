// again.mjs AGENTGW NODE_MODULES: two clients of revision 2026-07-28 (TypeScript SDK 2) make the same call at /mcp, the second while the first
// is under way. The second is asked to come again until the first answer is there, and gets that; the server is called once. Prints a table.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const [agentgw, modules] = process.argv.slice(2)
const here = dirname(fileURLToPath(import.meta.url))
const package_ = join(modules, '@modelcontextprotocol/client')
const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(join(package_, 'dist/index.mjs')))

const home = mkdtempSync(join(tmpdir(), 'again-'))
const tap = join(home, 'tap.jsonl'), log = join(home, 'decisions.jsonl')
const command = [process.execPath, join(here, 'tap.mjs'), tap, '--', process.execPath, join(modules, '@modelcontextprotocol/server-memory/dist/index.js')]
writeFileSync(join(home, 'agentgw.yaml'), JSON.stringify({ listen: '127.0.0.1:7130', admin: '127.0.0.1:7131', ledger: 'memory:', unmatched: 'auto', log, upstreams: { memory: { mcp: command } } }))
const gateway = spawn(agentgw, ['serve'], { cwd: home, env: { ...process.env, HOME: home, TAP_HOLD: '3000', MEMORY_FILE_PATH: join(home, 'graph.jsonl') }, stdio: 'ignore' })
const ended = new Promise(done => gateway.on('exit', done))
const count = (file, text) => existsSync(file) ? readFileSync(file, 'utf8').split(text).length - 1 : 0
const pause = ms => new Promise(r => setTimeout(r, ms))
const open = async () => {
  const client = new Client({ name: 'again', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(new URL('http://127.0.0.1:7130/mcp')))
  return client
}
let bad = true
try {
  for (let i = 0; ; i++) {
    try { await fetch('http://127.0.0.1:7131/healthz'); break } catch { if (i > 200) throw new Error('the gateway does not start') }
    await pause(50)
  }
  const [a, b] = [await open(), await open()]
  const call = { name: 'create_entities', arguments: { entities: [{ name: 'Ann', entityType: 'person', observations: [] }] } }
  const first = a.callTool(call)
  while (count(tap, '{"call"') === 0) await pause(20)
  const second = await b.callTool(call)
  const decision = second._meta?.['agentgw/decision']
  const same = JSON.stringify(second.content) === JSON.stringify((await first).content)
  const again = count(log, '"in_flight"'), reached = count(tap, '{"call"')
  console.log('| client | revision | the second call | is asked to come again | gets the first answer | calls that reached the server |\n|---|---|---|---|---|---|')
  console.log(`| TypeScript SDK ${JSON.parse(readFileSync(join(package_, 'package.json'), 'utf8')).version} | ${b.getNegotiatedProtocolVersion()} | ${decision} | ${again > 0 ? 'yes' : 'NO'} | ${same ? 'yes' : 'NO'} | ${reached} |`)
  bad = decision !== 'replayed' || again === 0 || !same || reached !== 1 || b.getNegotiatedProtocolVersion() !== '2026-07-28'
} finally {
  gateway.kill()
  await ended
  rmSync(home, { recursive: true, force: true })
}
process.exit(bad ? 1 : 0)
