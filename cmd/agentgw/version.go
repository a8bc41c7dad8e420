package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"agentgw/canonicalize"
)

type versionCmd struct{}

// Run shows what was built: where the build does not say, it is a development build.
func (versionCmd) Run(a *app) error {
	v := struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
		Go       string `json:"go"`
		Canon    int    `json:"canon"` // of the canonical form, which is part of every key
	}{"devel", "", runtime.Version(), canonicalize.Version}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" && info.Main.Version != "(devel)" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	if a.json {
		return a.writeJSON(v)
	}
	fmt.Fprintf(a.stdout, "agentgw %s (canonical form %d, %s)\n", v.Version, v.Canon, v.Go)
	return nil
}
