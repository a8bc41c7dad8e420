// reference.mjs AGENTGW NODE_MODULES: the reference servers with the TypeScript SDK's client, bare and behind `agentgw mcp`: every tool's
// definition, byte for byte; and each writing tool called twice, and once more from a new client with other request ids after the first
// client was cut off: one effect each. Prints a table.
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { reversed } from './client.mjs'

const [agentgw, modules] = process.argv.slice(2)
const here = dirname(fileURLToPath(import.meta.url))
const sdk = name => import(pathToFileURL(join(modules, '@modelcontextprotocol/sdk/dist/esm/client', name + '.js')))
const { Client } = await sdk('index')
const { StdioClientTransport } = await sdk('stdio')

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

// definitions are the tools as their raw text: what the SDK parsed, written again, keeps every member and its order.
const definitions = async client => (await client.listTools()).tools.filter(t => t.name !== 'agentgw_call').map(t => JSON.stringify(t))

console.log('| server | tools, all identical | writing tools | calls made of each | calls that reached the server |\n|---|---|---|---|---|')
let failed = 0
for (const server of reference) {
  const home = mkdtempSync(join(tmpdir(), 'reference-'))
  const dir = join(home, 'data')
  mkdirSync(dir)
  writeFileSync(join(dir, 'seed.txt'), 'x\n')
  writeFileSync(join(dir, 'moved.txt'), 'm\n')
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
    const reached = () => existsSync(tap) ? readFileSync(tap, 'utf8').split('\n').filter(l => l.startsWith('{"call"')).length : 0
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
    console.log(`| ${server.name} | ${plain.length}, ${identical ? 'yes' : 'NO'} | ${writes.length} | 3 | ${writes.length ? '1 each' : '–'} |`)
    if (problems.length) { failed++; console.error(server.name, problems) }
  } catch (e) {
    failed++
    console.error(server.name, e)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}
process.exit(failed ? 1 : 0)
