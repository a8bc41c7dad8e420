// reference.mjs AGENTGW NODE_MODULES: the reference servers with the TypeScript SDK's client, bare and behind `agentgw mcp`: every tool's
// definition, byte for byte; and each writing tool called twice, and once more from a new client with other request ids after the first
// client was cut off: one effect each. Then the same behind `agentgw serve`, where the connection is cut while the call is under way and a
// new client, with other request ids, makes it again. Prints a table.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { reversed } from './client.mjs'

const [agentgw, modules] = process.argv.slice(2)
const here = dirname(fileURLToPath(import.meta.url))
const sdk = name => import(pathToFileURL(join(modules, '@modelcontextprotocol/sdk/dist/esm/client', name + '.js')))
const { Client } = await sdk('index')
const { StdioClientTransport } = await sdk('stdio')
const { StreamableHTTPClientTransport } = await sdk('streamableHttp')

const at = name => [process.execPath, join(modules, '@modelcontextprotocol', name, 'dist/index.js')]
const reference = [
  { name: 'everything', command: () => [...at('server-everything'), 'stdio'], writes: () => [] },
  {
    name: 'filesystem', command: dir => [...at('server-filesystem'), dir],
    writes: dir => [
      ['write_file', { path: join(dir, 'a.txt'), content: 'one\n' }],
      ['create_directory', { path: join(dir, 'sub') }],
      ['edit_file', { path: join(dir, 'seed.txt'), edits: [{ oldText: 'x', newText: 'xx' }], dryRun: false }],
      ['move_file', { source: join(dir, 'moved.txt'), destination: join(dir, 'there.txt') }],
    ],
  },
  {
    name: 'memory', command: () => at('server-memory'), env: dir => ({ MEMORY_FILE_PATH: join(dir, 'graph.jsonl') }),
    writes: () => [
      ['create_entities', { entities: [{ name: 'Ann', entityType: 'person', observations: ['tall'] }] }],
      ['create_relations', { relations: [{ from: 'Ann', to: 'Bob', relationType: 'knows' }] }],
      ['add_observations', { observations: [{ entityName: 'Ann', contents: ['kind'] }] }],
      ['delete_observations', { deletions: [{ entityName: 'Ann', observations: ['tall'] }] }],
      ['delete_relations', { relations: [{ from: 'Ann', to: 'Bob', relationType: 'knows' }] }],
      ['delete_entities', { entityNames: ['Ann'] }],
    ],
  },
]

function snapshot(dir) {
  const hash = createHash('sha256')
  const walk = d => readdirSync(d).sort().forEach(n => statSync(join(d, n)).isDirectory() ? walk(join(d, n)) : hash.update(join(d, n)).update(readFileSync(join(d, n))))
  walk(dir)
  return hash.digest('hex')
}

async function connect(command, env) {
  const transport = new StdioClientTransport({ command: command[0], args: command.slice(1), env: { PATH: process.env.PATH, ...env }, stderr: 'ignore' })
  const client = new Client({ name: 'reference', version: '1' })
  await client.connect(transport)
  return client
}

const lines = file => existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
const noted = (tap, what) => lines(tap).filter(l => l.startsWith(`{"${what}"`)).length
async function until(what, done) {
  for (let i = 0; !done(); i++) {
    if (i > 1200) throw new Error('still not: ' + what)
    await new Promise(r => setTimeout(r, 50))
  }
}

// fill makes the folder that a server works on.
function fill(home) {
  const dir = join(home, 'data')
  mkdirSync(dir)
  writeFileSync(join(dir, 'seed.txt'), 'x\n')
  writeFileSync(join(dir, 'moved.txt'), 'm\n')
  return dir
}

// cut calls every writing tool over HTTP, cuts the connection while the call is under way, and calls again from a new client. It gives
// what went wrong.
async function cut(server) {
  const home = mkdtempSync(join(tmpdir(), 'reference-'))
  const dir = fill(home)
  const tap = join(home, 'tap.jsonl')
  const command = [process.execPath, join(here, 'tap.mjs'), tap, '--', ...server.command(dir)]
  writeFileSync(join(home, 'agentgw.yaml'), JSON.stringify({ listen: '127.0.0.1:7120', admin: '127.0.0.1:7121', ledger: 'memory:', unmatched: 'auto', upstreams: { it: { mcp: command } } }))
  const gateway = spawn(agentgw, ['serve'], { cwd: home, env: { ...process.env, HOME: home, TAP_HOLD: '300', ...server.env?.(dir) }, stdio: ['ignore', 'ignore', openSync(join(home, 'agentgw.log'), 'w')] })
  const ended = new Promise(done => gateway.on('exit', done))
  const open = async () => {
    const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1:7120/mcp/it'))
    const client = new Client({ name: 'reference', version: '1' })
    await client.connect(transport)
    return client
  }
  const problems = []
  try {
    for (let i = 0; ; i++) {
      try { await fetch('http://127.0.0.1:7121/healthz'); break } catch { if (i > 200 || gateway.exitCode !== null) throw new Error('the gateway does not start: ' + lines(join(home, 'agentgw.log'))) }
      await new Promise(r => setTimeout(r, 50))
    }
    for (const [tool, args] of server.writes(dir)) {
      const first = await open()
      const calls = noted(tap, 'call'), answers = noted(tap, 'answer')
      const lost = first.callTool({ name: tool, arguments: args }).then(() => 'answered', () => 'cut')
      await until(tool + ' reaches the server', () => noted(tap, 'call') > calls)
      await first.close() // aborts the request under way
      if (await lost !== 'cut') problems.push(tool + ' was answered before the cut')
      await until(tool + ' is done', () => noted(tap, 'answer') > answers)
      await new Promise(r => setTimeout(r, 400))
      const before = snapshot(dir)
      const second = await open()
      const again = await second.callTool({ name: tool, arguments: reversed(args) })
      const decision = again._meta?.['agentgw/decision']
      if (decision !== 'replayed' || again.isError) problems.push(`${tool} after the cut: ${decision}`)
      if (JSON.stringify(again.content) !== JSON.stringify(JSON.parse(lines(tap).filter(l => l.startsWith('{"answer"')).at(-1)).answer.content)) problems.push(tool + ': another answer')
      if (snapshot(dir) !== before) problems.push(tool + ': the state changed')
      if (noted(tap, 'call') !== calls + 1) problems.push(`${tool}: ${noted(tap, 'call') - calls} calls reached the server`)
      await second.close()
    }
  } finally {
    gateway.kill()
    await ended
    rmSync(home, { recursive: true, force: true })
  }
  return problems
}

// definitions are the tools as their raw text: what the SDK parsed, written again, keeps every member and its order.
const definitions = async client => (await client.listTools()).tools.filter(t => t.name !== 'agentgw_call').map(t => JSON.stringify(t))

console.log('| server | tools, all identical | writing tools | over pipes: calls of each, reached the server | over HTTP, cut off under way: calls of each, reached the server |\n|---|---|---|---|---|')
let failed = 0
for (const server of reference) {
  const home = mkdtempSync(join(tmpdir(), 'reference-'))
  const dir = fill(home)
  const env = { HOME: home, XDG_CACHE_HOME: join(home, 'cache'), ...server.env?.(dir) }
  const tap = join(home, 'tap.jsonl')
  const direct = [process.execPath, join(here, 'tap.mjs'), tap, '--', ...server.command(dir)]
  const guarded = [agentgw, 'mcp', '--', ...direct]
  try {
    const bare = await connect(direct, env)
    const plain = await definitions(bare)
    await bare.close()
    let client = await connect(guarded, env)
    const through = await definitions(client)
    const identical = JSON.stringify(plain) === JSON.stringify(through)
    const reached = () => noted(tap, 'call')
    let problems = identical ? [] : ['definitions differ']
    const writes = server.writes(dir)
    for (const [tool, args] of writes) {
      const first = await client.callTool({ name: tool, arguments: args })
      const before = snapshot(dir)
      const second = await client.callTool({ name: tool, arguments: reversed(args) })
      if (second._meta?.['agentgw/decision'] !== 'replayed' || snapshot(dir) !== before) problems.push(tool + ' twice')
      if (JSON.stringify(first.content) !== JSON.stringify(second.content)) problems.push(tool + ': another answer')
    }
    const before = snapshot(dir)
    await client.close() // the connection is cut; the next client starts its request ids anew
    client = await connect(guarded, env)
    await client.listTools()
    for (const [tool, args] of writes) {
      const third = await client.callTool({ name: tool, arguments: args })
      if (third._meta?.['agentgw/decision'] !== 'replayed') problems.push(`${tool} after the cut: ${third._meta?.['agentgw/decision']}`)
    }
    if (snapshot(dir) !== before) problems.push('the state changed after the cut')
    await client.close()
    if (reached() !== writes.length) problems.push(`${reached()} calls reached the server`)
    if (writes.length) problems.push(...await cut(server))
    const calls = n => writes.length ? `${n}, ${problems.length ? 'SEE BELOW' : 1}` : '–'
    console.log(`| ${server.name} | ${plain.length}, ${identical ? 'yes' : 'NO'} | ${writes.length} | ${calls(3)} | ${calls(2)} |`)
    if (problems.length) { failed++; console.error(server.name, problems) }
  } catch (e) {
    failed++
    console.error(server.name, e)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
process.exit(failed ? 1 : 0)
