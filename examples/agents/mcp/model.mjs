// A scripted model behind the chat completions API: it asks for one refund, worded otherwise each time a conversation begins, and then
// says what the tool said.
import { createServer } from 'node:http'
import { randomUUID } from 'node:crypto'

const wordings = [
  { order: 'A-1042', amount: '50', note: 'the lamp is broken' },
  { note: 'Customer reports a damaged lamp.', amount: '50.00', order: ' a‐1042 ' },
  { amount: '50.0', order: 'Ａ－１０４２' },
  { order: 'a-1042', note: 'second look at the same ticket', amount: '5e1' },
]

export function scriptedModel() {
  let begun = 0
  const seen = []
  const server = createServer(async (req, res) => {
    let text = ''
    for await (const part of req) text += part
    const { messages } = JSON.parse(text)
    const last = messages.at(-1)
    let message = { role: 'assistant', content: `Done: ${JSON.stringify(last.content)}` }
    if (last.role === 'tool') seen.push(JSON.stringify(last.content))
    else message = { role: 'assistant', content: null, tool_calls: [{ id: 'call_' + randomUUID(), type: 'function', function: { name: 'refund_order', arguments: JSON.stringify(wordings[begun++ % wordings.length]) } }] }
    res.setHeader('Content-Type', 'application/json')
    res.end(JSON.stringify({
      id: 'chatcmpl-' + randomUUID(), object: 'chat.completion', created: 0, model: 'scripted',
      choices: [{ index: 0, message, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }))
  })
  return new Promise(done => server.listen(0, '127.0.0.1', () => done({ url: `http://127.0.0.1:${server.address().port}/v1`, seen, close: () => server.close() })))
}
