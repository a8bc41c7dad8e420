# What there is to run. scripts/test.sh installs what the tests need on Debian.

.PHONY: test ci demo cover fuzz bench chaos verify model accuracy mutants update mcp-conformance mcp-agents

test: ## all tests, with the race detector
	scripts/test.sh

ci: ## what has to pass before a change is taken
	.ci/run

demo: ## what the gateway does, in under a minute
	go run ./cmd/agentgw demo

cover: ## which lines no test reaches: out/cover.html
	mkdir -p out
	go test -coverpkg=./... -coverprofile=out/cover.out ./...
	go tool cover -func=out/cover.out | tail -n 1
	go tool cover -html=out/cover.out -o out/cover.html

fuzz: ## every fuzz test for 30 s
	scripts/fuzz.sh 30s

bench: ## the gateway against a bare reverse proxy, and the parts
	go test -run '^$$' -bench . -benchmem ./...

chaos: ## the long runs: everything dies and freezes under load, by a schedule that CHAOS_SEED repeats; twenty failovers
	CHAOS_CALLS=100000 CHAOS_EFFECTS=5000 CHAOS_RATE=200 go test -count=1 -v -timeout 90m ./chaos
	CHAOS_ROUNDS=20 go test -count=1 -v -timeout 60m -run FailoverStorm ./ledger/redisstore

model: ## the protocol in every order of its steps, also the scenes that have tens of thousands
	INTERLEAVINGS=all go test -count=1 -v -timeout 90m -run 'TestModel|TestInterleavings' ./ledger

verify: ## the fault battery on every kind of ledger, five times each fault; the table of docs/verify.md
	VERIFY_TIMES=5 go test -count=1 -v -timeout 30m -run '^TestVerify$$' ./cmd/agentgw

accuracy: ## keys measured on labelled calls, where the data is there
	go test -count=1 -v -run Accuracy ./canonicalize ./accuracy

mutants: ## breaks each rule in turn and shows which test notices
	go run ./internal/mutants

update: ## writes golden files anew; read the diff
	go test ./cmd/agentgw ./canonicalize ./ledger -update

mcp-conformance: ## MCP: the public suite, the reference servers, the census of lost answers (needs Node); the tables of docs/mcp.md
	scripts/mcp/conformance.sh

mcp-agents: ## agents on two npm frameworks through /mcp, twice, worded differently (needs Node)
	examples/agents/mcp/run.sh
