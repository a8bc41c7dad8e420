#!/usr/bin/env bash
# Runs every fuzz test for a while: scripts/fuzz.sh [TIME], 30s without one.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}
grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file name; do
	name=${name#func }
	echo "$(dirname "$file") $name $time"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$(dirname "$file")" </dev/null | tail -n 2
done
