#!/usr/bin/env bash
# Runs the agents against a scripted model. Needs Go and Node; the packages are installed into a cache folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agentgw/mcp-agents
mkdir -p "$cache"
cp -r "$here"/*.mjs "$here/package.json" "$here/gateway" "$here/clients" "$cache/"
(cd "$cache" && npm install --no-audit --no-fund --ignore-scripts --loglevel error >&2)
(cd "$here/../../.." && go build -o "$cache/agentgw" ./cmd/agentgw)
cd "$cache" && node main.mjs "$cache/agentgw"
