package ledger

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"agentgw"
)

var updateDiagram = flag.Bool("update", false, "draw docs/ledger.md anew")

// TestDiagram: docs/ledger.md shows the table of the machine.
func TestDiagram(t *testing.T) {
	const file, begin, end = "../docs/ledger.md", "<!-- diagram -->\n", "<!-- end -->"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(text, []byte(begin))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the diagram between %q and %q", file, begin, end)
	}
	want := string(head) + begin + diagram() + end + string(tail)
	if string(text) == want {
		return
	}
	if !*updateDiagram {
		t.Fatalf("%s does not show the table of the machine: go test ./ledger -run Diagram -update", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// diagram is the table as a Mermaid state diagram: one arrow for all events between two states.
func diagram() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, from := range states {
		for _, to := range states {
			var by []string
			for _, ev := range events {
				if next, ok := table[from][ev]; ok && next == to {
					by = append(by, string(ev))
				}
			}
			if len(by) > 0 {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", node(from), node(to), strings.Join(by, ", "))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

func node(s agentgw.State) string { return cmp.Or(string(s), "free") }
