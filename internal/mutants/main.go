// Command mutants breaks the rules of the pipeline one by one and shows which test notices each: a rule that can be broken without a
// test failing is not kept. Nothing is changed on disk: every mutant is an overlay for the compiler.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

// run breaks the rules whose names contain one of the arguments, all without any. 0: each is caught.
func run(args []string) int {
	root, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	caught, lived := 0, 0
	for _, m := range mutants {
		if !chosen(m.Rule, args) {
			continue
		}
		by, err := m.test(root)
		switch {
		case err != nil:
			fmt.Fprintf(os.Stderr, "%s: %v\n", m.Rule, err)
			return 2
		case by == "":
			lived++
			fmt.Printf("LIVED   %s\n", m.Rule)
		default:
			caught++
			fmt.Printf("caught  %-72s by %s\n", m.Rule, by)
		}
	}
	fmt.Printf("%d caught, %d lived\n", caught, lived)
	if lived > 0 {
		return 1
	}
	return 0
}

func chosen(rule string, args []string) bool {
	for _, a := range args {
		if strings.Contains(rule, a) {
			return true
		}
	}
	return len(args) == 0
}

// mutate is the files with the rule broken, by name.
func (m mutant) mutate(root string) (map[string][]byte, error) {
	broken := map[string][]byte{}
	for _, e := range append([]edit{{m.File, m.Old, m.New}}, m.And...) {
		source, err := os.ReadFile(filepath.Join(root, e.File))
		if err != nil {
			return nil, err
		}
		if n := bytes.Count(source, []byte(e.Old)); n != 1 {
			return nil, fmt.Errorf("%s holds %q %d times, not once: the list of mutants is out of date", e.File, e.Old, n)
		}
		broken[e.File] = bytes.Replace(source, []byte(e.Old), []byte(e.New), 1)
	}
	return broken, nil
}

// overlay writes broken files, and what tells the compiler of them, into a folder.
func overlay(root, dir string, broken map[string][]byte) (file string, err error) {
	replace := map[string]string{}
	for name, text := range broken {
		at := filepath.Join(dir, fmt.Sprint(len(replace), filepath.Ext(name)))
		if err := os.WriteFile(at, text, 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, name)] = at
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, list, 0o600)
}

// test runs the tests that guard the rule on the mutant, and names the first that fails; "" where none does.
func (m mutant) test(root string) (by string, err error) {
	broken, err := m.mutate(root)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	file, err := overlay(root, dir, broken)
	if err != nil {
		return "", err
	}
	for _, guard := range m.guards() {
		cmd := exec.Command("go", append([]string{"test", "-vet=off", "-failfast", "-timeout=8m", "-overlay", file}, guard...)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		if bytes.Contains(out, []byte("[build failed]")) {
			return "", fmt.Errorf("the mutant does not compile: %s", out)
		}
		if bytes.Contains(out, []byte("panic: test timed out")) {
			return "", fmt.Errorf("the tests do not end within 8 minutes, which says nothing: try again on a machine that has less to do")
		}
		if err != nil {
			return nameOf(out), nil
		}
	}
	return "", nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// nameOf is the innermost failed test in the output of go test.
func nameOf(out []byte) string {
	name := "a crash"
	for _, m := range failed.FindAllSubmatch(out, -1) {
		if len(m[1]) > len(name) || name == "a crash" {
			name = string(m[1])
		}
	}
	return name
}
