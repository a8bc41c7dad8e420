package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed template
var templates embed.FS

type initCmd struct {
	Dir string `arg:"" optional:"" default:"." help:"Folder to write into."`
}

// Help is shown by `agentgw init --help`.
func (initCmd) Help() string {
	return "Writes agentgw.yaml, policies/example.yaml and policies/example_test.yaml. Nothing that is there is written over."
}

// Run writes the first files, all or none.
func (c *initCmd) Run(a *app) error {
	root, err := fs.Sub(templates, "template")
	if err != nil {
		return err
	}
	var files []string
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range files {
		if _, err := os.Lstat(filepath.Join(c.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return usagef("%s is already there; init writes over nothing: choose another folder, or move it away", filepath.Join(c.Dir, name))
		}
	}
	for _, name := range files {
		if err := writeNew(root, name, filepath.Join(c.Dir, name)); err != nil {
			return err
		}
		if !a.json {
			fmt.Fprintf(a.stdout, "wrote %s\n", filepath.Join(c.Dir, name))
		}
	}
	if a.json {
		return a.writeJSON(map[string][]string{"wrote": files})
	}
	fmt.Fprint(a.stdout, "\nNext:\n")
	if filepath.Clean(c.Dir) != "." {
		fmt.Fprintf(a.stdout, "  cd %s\n", c.Dir)
	}
	fmt.Fprint(a.stdout, `  agentgw policy test policies/example_test.yaml    what the policy promises, in virtual time
  agentgw policy explain --policy policies/ --tool create_invoice --args '{"customer_id": "C-17", "month": "2026-11", "amount": "120", "currency": "EUR"}'
  edit agentgw.yaml: where your business tool runs, and which tools agents may call
  agentgw serve
`)
	return nil
}

// writeNew writes one file that must not be there yet.
func writeNew(root fs.FS, name, to string) error {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return usage(err)
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return usage(err)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
