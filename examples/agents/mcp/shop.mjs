// A shop as an MCP server over stdio: one tool, which writes every refund into the file REFUNDS.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const tool = {
  name: 'refund_order',
  description: 'Pays money back to the customer of an order',
  inputSchema: {
    type: 'object',
    properties: { order: { type: 'string' }, amount: { type: 'string', description: 'US dollars' }, note: { type: 'string' } },
    required: ['order', 'amount'],
  },
}
const answers = {
  initialize: p => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'shop', version: '1' } }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': p => {
    appendFileSync(process.env.REFUNDS, JSON.stringify(p.arguments) + '\n')
    return { content: [{ type: 'text', text: `refunded ${p.arguments.amount} for ${p.arguments.order}` }] }
  },
}
createInterface({ input: process.stdin }).on('line', line => {
  const m = JSON.parse(line)
  if (m.id === undefined) return
  const answer = answers[m.method]
  const rest = answer ? { result: answer(m.params ?? {}) } : { error: { code: -32601, message: 'no such method' } }
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: m.id, ...rest }) + '\n')
})
