// The servers of the census: public ones that write to the machine they run on, each with one writing call.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const manifest = (modules, name) => JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8'))

// start is the command of a package, as its manifest names it.
function start(modules, name) {
  const { bin } = manifest(modules, name)
  return [process.execPath, join(modules, name, typeof bin === 'string' ? bin : Object.values(bin)[0])]
}

// server describes one; make gives its command and its call over an empty folder for its data.
const server = (name, tool, make) => ({ name, make: (data, modules) => ({ tool, ...make(data, modules) }) })

export const servers = [
  server('@modelcontextprotocol/server-filesystem', 'edit_file', (data, m) => ({
    command: [...start(m, '@modelcontextprotocol/server-filesystem'), data],
    prepare: () => writeFileSync(join(data, 'list.md'), '- milk\n'),
    args: { path: join(data, 'list.md'), edits: [{ oldText: '- milk', newText: '- milk\n- milk' }], dryRun: false },
  })),
  server('@modelcontextprotocol/server-memory', 'create_relations', (data, m) => ({
    command: start(m, '@modelcontextprotocol/server-memory'), env: { MEMORY_FILE_PATH: join(data, 'graph.jsonl') },
    before: [['create_entities', { entities: [{ name: 'Ann', entityType: 'person', observations: [] }, { name: 'Bob', entityType: 'person', observations: [] }] }]],
    args: { relations: [{ from: 'Ann', to: 'Bob', relationType: 'knows' }] },
  })),
  server('@itseasy21/mcp-knowledge-graph', 'update_entities', (data, m) => ({
    command: start(m, '@itseasy21/mcp-knowledge-graph'), env: { MEMORY_FILE_PATH: join(data, 'graph.jsonl') },
    before: [['create_entities', { entities: [{ name: 'Ann', entityType: 'person', observations: ['tall'] }] }]],
    args: { entities: [{ name: 'Ann', entityType: 'friend' }] },
  })),
  server('@agent-infra/mcp-server-filesystem', 'edit_file', (data, m) => ({
    command: [...start(m, '@agent-infra/mcp-server-filesystem'), '--allowed-directories', data],
    prepare: () => writeFileSync(join(data, 'list.md'), '- milk\n'),
    args: { path: join(data, 'list.md'), edits: [{ oldText: '- milk', newText: '- milk\n- milk' }] },
  })),
  server('fast-filesystem-mcp', 'fast_write_file', (data, m) => ({
    command: start(m, 'fast-filesystem-mcp'),
    prepare: () => writeFileSync(join(data, 'log.txt'), 'start\n'),
    args: { path: join(data, 'log.txt'), content: 'paid 49.90 EUR\n', append: true },
  })),
  server('obsidian-mcp', 'obsidian_edit_note', (data, m) => ({
    command: [...start(m, 'obsidian-mcp'), 'serve', '--vault', 'vault=' + data],
    prepare: () => { mkdirSync(join(data, '.obsidian')); writeFileSync(join(data, 'journal.md'), '# Journal\n') },
    args: { vault: 'vault', path: 'journal.md', operation: 'append', content: 'Called Ann.\n' },
  })),
  server('@kazuph/mcp-taskmanager', 'request_planning', (data, m) => ({
    command: start(m, '@kazuph/mcp-taskmanager'), env: { TASK_MANAGER_FILE_PATH: join(data, 'tasks.json') },
    args: { originalRequest: 'Move house', tasks: [{ title: 'Pack', description: 'All boxes' }] },
  })),
  server('@allpepper/memory-bank-mcp', 'memory_bank_write', (data, m) => ({
    command: start(m, '@allpepper/memory-bank-mcp'), env: { MEMORY_BANK_ROOT: data },
    args: { projectName: 'house', fileName: 'plan.md', content: '# Plan\n' },
  })),
  server('@wonderwhy-er/desktop-commander', 'write_file', (data, m) => ({
    command: start(m, '@wonderwhy-er/desktop-commander'),
    prepare: () => writeFileSync(join(data, 'log.txt'), 'start\n'),
    args: { path: join(data, 'log.txt'), content: 'paid 49.90 EUR\n', mode: 'append' },
  })),
]
