#!/usr/bin/env bash
# Runs all tests with the race detector; arguments go to `go test`. On Debian, as root, it first installs what is missing: a C compiler
# for the race detector, redis-server, whose service is not started: the tests start servers of their own, and libfaketime for one whose
# clock jumps.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v go >/dev/null || { echo "test.sh: Go 1.26 or newer is needed: https://go.dev/dl/" >&2; exit 2; }

missing=()
command -v gcc >/dev/null || missing+=(gcc libc6-dev)
command -v redis-server >/dev/null || missing+=(redis-server)
compgen -G '/usr/lib/*/faketime/libfaketimeMT.so.1' >/dev/null || missing+=(libfaketime)
if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
		echo "test.sh: install ${missing[*]}, or run this on Debian as root" >&2
		exit 2
	fi
	echo "installing ${missing[*]}"
	stay=/usr/sbin/policy-rc.d # while it says 101, no service is started
	if [ ! -e "$stay" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$stay"
		chmod +x "$stay"
		trap 'rm -f "$stay"' EXIT
	fi
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	rm -f "$stay"
	trap - EXIT
fi

export CGO_ENABLED=1 # the race detector needs it
go test -race -timeout 25m "$@" ./...
