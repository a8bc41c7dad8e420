# What there is to run. scripts/test.sh installs what the tests need on Debian.

.PHONY: test ci demo cover fuzz bench accuracy mutants update

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

accuracy: ## keys measured on labelled calls, where the data is there
	go test -count=1 -v -run Accuracy ./canonicalize ./accuracy

mutants: ## breaks each rule in turn and shows which test notices
	go run ./internal/mutants

update: ## writes golden files anew; read the diff
	go test ./cmd/agentgw ./canonicalize ./ledger -update
