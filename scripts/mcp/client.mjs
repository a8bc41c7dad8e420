// A client of an MCP server over stdio, in raw messages.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export class Client {
  constructor(command, env = {}, cwd = undefined) {
    this.process = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', process.env.MCP_DEBUG ? 'inherit' : 'ignore'], env: { ...process.env, ...env }, cwd })
    this.waiting = new Map()
    this.raw = new Map()
    this.next = Math.floor(Math.random() * 1e6)
    this.ended = new Promise(end => this.process.on('exit', end))
    this.process.stdin.on('error', () => {})
    createInterface({ input: this.process.stdout }).on('line', line => {
      let m
      try { m = JSON.parse(line) } catch { return }
      if (m.method !== undefined || !this.waiting.has(m.id)) return
      this.raw.set(m.id, line)
      this.waiting.get(m.id)(m)
    })
  }

  send(m) { this.process.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\n') }

  request(method, params, seconds = 60) {
    const id = ++this.next
    return new Promise((done, failed) => {
      const timer = setTimeout(() => failed(new Error(`${method}: no answer for ${seconds} s`)), seconds * 1000)
      this.waiting.set(id, m => { clearTimeout(timer); done(m) })
      this.ended.then(() => { clearTimeout(timer); failed(new Error(`${method}: the server ended`)) })
      this.send({ id, method, params })
    })
  }

  async open() {
    await this.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'census', version: '1' } }, 120)
    this.send({ method: 'notifications/initialized' })
    return this
  }

  call(name, args) { return this.request('tools/call', { name, arguments: args }) }

  // leave goes away without waiting for any answer.
  async leave() { this.process.stdin.end(); await this.ended }
}

// reversed is the same value with its members in the opposite order: what a model writes the second time.
export function reversed(v) {
  if (Array.isArray(v)) return v.map(reversed)
  if (v === null || typeof v !== 'object') return v
  return Object.fromEntries(Object.entries(v).reverse().map(([k, x]) => [k, reversed(x)]))
}
