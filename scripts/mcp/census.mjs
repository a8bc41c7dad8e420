// census.mjs AGENTGW NODE_MODULES: for public MCP servers that write, makes one writing call whose answer is lost because the client goes
// away, and makes it again from a new client process, members in another order. Counts the writes that reach the server, without
// agentgw and with it (`agentgw mcp -- …`, no configuration), and looks at what the server has on disk. Prints a table.
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, reversed } from './client.mjs'
import { manifest, servers } from './servers.mjs'

const [agentgw, modules, only] = process.argv.slice(2)
const here = dirname(fileURLToPath(import.meta.url))

function lines(file) { return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).map(l => JSON.parse(l)) : [] }

// state is a digest of every file below a folder.
function state(folder) {
  const hash = createHash('sha256')
  const walk = dir => {
    for (const name of readdirSync(dir).sort()) {
      const path = join(dir, name)
      if (statSync(path).isDirectory()) walk(path)
      else if (!/-(wal|shm)$|\.log$/.test(name)) hash.update(path.slice(folder.length)).update(readFileSync(path))
    }
  }
  walk(folder)
  return hash.digest('hex').slice(0, 12)
}

async function run(server, guarded) {
  const folder = mkdtempSync(join(tmpdir(), 'census-'))
  const data = join(folder, 'data')
  mkdirSync(data)
  const tap = join(folder, 'tap.jsonl')
  const it = server.make(data, modules)
  it.prepare?.()
  const direct = [process.execPath, join(here, 'tap.mjs'), tap, '--', ...it.command]
  const command = guarded ? [agentgw, 'mcp', '--', ...direct] : direct
  const env = { ...it.env, HOME: folder, XDG_CACHE_HOME: join(folder, 'cache') }
  const writes = () => lines(tap).filter(l => l.call === it.tool).length
  try {
    const first = await new Client(command, env, data).open()
    for (const [tool, args] of it.before ?? []) await first.call(tool, args)
    const answers = lines(tap).filter(l => l.answer).length
    first.call(it.tool, it.args).catch(() => {}) // nobody waits for this answer
    for (let i = 0; lines(tap).filter(l => l.answer).length <= answers; i++) {
      if (i > 600) throw new Error('the server does not answer the first call')
      await new Promise(r => setTimeout(r, 50))
    }
    await first.leave()
    const lost = lines(tap).filter(l => l.answer).at(-1).answer
    if (lost.isError || lost.code) throw new Error('the first call failed: ' + JSON.stringify(lost).slice(0, 200))
    const once = it.state?.() ?? state(data)
    const again = await new Client(command, env, data).open()
    const answer = await again.call(it.tool, reversed(it.args))
    await again.leave()
    const twice = it.state?.() ?? state(data)
    return { tool: it.tool, writes: writes(), changed: once !== twice, same: JSON.stringify(answer.result?.content) === JSON.stringify(lost.content), decision: answer.result?._meta?.['agentgw/decision'], error: answer.error ?? (answer.result?.isError && answer.result.content) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

console.log('| server | tool | writes without | state changed again | writes with agentgw | state changed again | second answer is the first |\n|---|---|---|---|---|---|---|')
let failed = 0
for (const server of servers) {
  if (only && !server.name.includes(only)) continue
  try {
    const without = await run(server, false)
    const with_ = await run(server, true)
    const yes = b => (b ? 'yes' : 'no')
    console.log(`| ${server.name} ${manifest(modules, server.name).version} | \`${without.tool}\` | ${without.writes} | ${yes(without.changed)} | ${with_.writes} | ${yes(with_.changed)} | ${yes(with_.same)} |`)
    if (with_.writes !== 1 || with_.changed || !with_.same) { failed++; console.error(server.name, with_) }
  } catch (e) {
    failed++
    console.error(`${server.name}: ${e.message}`)
  }
}
process.exit(failed ? 1 : 0)
