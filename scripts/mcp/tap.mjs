// tap.mjs LOG -- COMMAND…: runs an MCP server over stdio and notes every tools/call that reaches it, and every answer, as JSON lines.
// With TAP_HOLD the answers are passed on that many milliseconds later.
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [log, , command, ...args] = process.argv.slice(2)
const server = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const calls = new Set()
createInterface({ input: process.stdin }).on('line', line => {
  const m = JSON.parse(line)
  if (m.method === 'tools/call') {
    calls.add(JSON.stringify(m.id))
    appendFileSync(log, JSON.stringify({ call: m.params.name, args: m.params.arguments }) + '\n')
  }
  server.stdin.write(line + '\n')
}).on('close', () => server.stdin.end())
createInterface({ input: server.stdout }).on('line', line => {
  let hold = 0
  try {
    const m = JSON.parse(line)
    if (m.method === undefined && calls.has(JSON.stringify(m.id))) {
      appendFileSync(log, JSON.stringify({ answer: m.result ?? m.error }) + '\n')
      hold = +(process.env.TAP_HOLD ?? 0)
    }
  } catch {} // some servers write text there
  setTimeout(() => process.stdout.write(line + '\n'), hold)
})
server.on('close', code => setTimeout(() => process.exit(code ?? 1), +(process.env.TAP_HOLD ?? 0) + 50))
