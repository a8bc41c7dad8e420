package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	openai "github.com/sashabaranov/go-openai"
)

// shop is a business service that counts its refunds. It dedups nothing.
type shop struct {
	mu      sync.Mutex
	refunds []string
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		fmt.Fprint(w, `{"order":"A-1042","paid":"50.00","currency":"USD","items":["lamp"]}`)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refunds = append(s.refunds, r.URL.Path)
	fmt.Fprintf(w, `{"refund":"R-%d"}`, len(s.refunds))
}

// scriptedModel says what the script has for each turn, and keeps what it was told.
type scriptedModel struct {
	mu    sync.Mutex
	turns []openai.ChatCompletionMessage
	told  []openai.ChatCompletionMessage // the tool messages so far
}

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var asked openai.ChatCompletionRequest
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || len(m.turns) == 0 || len(asked.Tools) < 2 {
		http.Error(w, fmt.Sprintf(`{"error":{"message":"not in the script: %v"}}`, err), http.StatusBadRequest)
		return
	}
	if last := asked.Messages[len(asked.Messages)-1]; last.Role == openai.ChatMessageRoleTool {
		m.told = append(m.told, last)
	}
	json.NewEncoder(w).Encode(openai.ChatCompletionResponse{ID: "c", Choices: []openai.ChatCompletionChoice{{Message: m.turns[0]}}})
	m.turns = m.turns[1:]
}

func calls(id, tool, arguments string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, ToolCalls: []openai.ToolCall{
		{ID: id, Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: tool, Arguments: arguments}}}}
}

func says(text string) openai.ChatCompletionMessage {
	return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant, Content: text}
}

// Two runs on one ticket, the second in other words: one refund, and the second run is told so.
func TestTwoRunsOneRefund(t *testing.T) {
	business := &shop{}
	service := httptest.NewServer(business)
	defer service.Close()
	model := &scriptedModel{turns: []openai.ChatCompletionMessage{
		calls("call_1", "find_order", `{"order":"A-1042"}`),
		calls("call_2", "refund_payment", `{"order":"A-1042","amount":"50","currency":"USD","note":"Sorry about the lamp."}`),
		says("You get your 50 dollars back."),

		calls("call_91", "refund_payment", `{"note":"We apologize for the broken lamp!","currency":"usd","amount":"50.00","order":" a‐1042 "}`),
		says("Your refund is on its way."),
	}}
	brain := httptest.NewServer(model)
	defer brain.Close()
	gateway := startGateway(t, service.URL)

	env := map[string]string{"OPENAI_BASE_URL": brain.URL, "OPENAI_API_KEY": "x", "OPENAI_MODEL": "scripted", "AGENTGW_URL": gateway}
	for i, want := range []string{"You get your 50 dollars back.", "Your refund is on its way."} {
		var out strings.Builder
		if err := run(t.Context(), []string{"T-1", "The lamp of order A-1042 is broken."}, &out, func(name string) string { return env[name] }); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(out.String()); got != want {
			t.Errorf("run %d ended with %q instead of %q", i+1, got, want)
		}
	}
	if len(business.refunds) != 1 {
		t.Errorf("%d refunds happened instead of 1: %v", len(business.refunds), business.refunds)
	}
	last := model.told[len(model.told)-1]
	if last.ToolCallID != "call_91" || !strings.Contains(last.Content, `"decision":"replayed"`) || !strings.Contains(last.Content, "R-1") {
		t.Errorf("the second run was not told that it was done before: %+v", last)
	}
}

// startGateway builds agentgw, and starts it with the files of gateway/ on free ports.
func startGateway(t *testing.T, shop string) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "agentgw")
	if out, err := exec.Command("go", "build", "-o", binary, "../../../cmd/agentgw").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, name := range []string{"agentgw.yaml", "policy.yaml"} {
		text, err := os.ReadFile(filepath.Join("gateway", name))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.NewReplacer("127.0.0.1:8080", "127.0.0.1:0", "127.0.0.1:8081", "127.0.0.1:0").Replace(string(text)))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gateway := exec.Command(binary, "--json", "serve", "--config", filepath.Join(dir, "agentgw.yaml"))
	gateway.Env = append(os.Environ(), "SHOP_URL="+shop)
	gateway.Stderr = os.Stderr
	out, err := gateway.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		gateway.Process.Signal(os.Interrupt)
		if err := gateway.Wait(); err != nil {
			t.Errorf("the gateway ended badly: %v", err)
		}
	})
	var at struct{ Listen string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &at) != nil {
		t.Fatalf("the gateway did not start: %v %s", err, line)
	}
	return "http://" + at.Listen
}
