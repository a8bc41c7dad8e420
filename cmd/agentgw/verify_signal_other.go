//go:build !unix

package main

import "os"

// Processes cannot be stopped here, so faults that need that are not run.
var (
	stopSignal     os.Signal = os.Kill
	continueSignal os.Signal = os.Kill
)

const canPause = false
