// Command refunds is an agent that refunds customers: a loop around a model that calls business tools through agentgw.
//
// It knows nothing of idempotency. It may be killed, started again, or run twice: the gateway sees to it that one refund that was asked
// for is one refund that happens.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"

	openai "github.com/sashabaranov/go-openai"
)

const task = `You work for the customer service. Refund what customers ask for, if the order shows that they may have it.
A tool that answers with a "decision" tells you what was done before and what to do next: do what it says.`

// maxTurns bounds the loop: an agent that is not done by then is not going to be.
const maxTurns = 12

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "refunds:", err)
		os.Exit(1)
	}
}

// run answers one ticket: its id, which is the task of all calls, and its text.
func run(ctx context.Context, args []string, out io.Writer, env func(string) string) error {
	if len(args) != 2 {
		return errors.New(`usage: refunds TICKET "what the customer wrote"`)
	}
	config := openai.DefaultConfig(env("OPENAI_API_KEY"))
	if base := env("OPENAI_BASE_URL"); base != "" {
		config.BaseURL = base
	}
	a := &agent{model: openai.NewClientWithConfig(config), name: env("OPENAI_MODEL"), ticket: args[0],
		gateway: env("AGENTGW_URL"), key: env("AGENTGW_KEY")}
	if a.name == "" {
		a.name = openai.GPT4oMini
	}
	if a.gateway == "" {
		a.gateway = "http://127.0.0.1:8080"
	}
	answer, err := a.work(ctx, args[1])
	if err == nil {
		fmt.Fprintln(out, answer)
	}
	return err
}

// agent works on one ticket.
type agent struct {
	model   *openai.Client
	name    string // of the model
	gateway string // URL
	key     string // the agent's secret; "" where the gateway wants none
	ticket  string
}

// work lets the model call tools until it has an answer.
func (a *agent) work(ctx context.Context, request string) (string, error) {
	var tools []openai.Tool
	if err := a.ask(ctx, http.MethodGet, "/v1/tools?format=openai-chat", nil, &tools); err != nil {
		return "", err
	}
	talk := []openai.ChatCompletionMessage{
		{Role: openai.ChatMessageRoleSystem, Content: task},
		{Role: openai.ChatMessageRoleUser, Content: request},
	}
	for range maxTurns {
		res, err := a.model.CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: a.name, Messages: talk, Tools: tools})
		if err != nil {
			return "", err
		}
		if len(res.Choices) == 0 {
			return "", errors.New("the model said nothing")
		}
		said := res.Choices[0].Message
		if len(said.ToolCalls) == 0 {
			return said.Content, nil
		}
		results, err := a.call(ctx, said)
		if err != nil {
			return "", err
		}
		talk = append(append(talk, said), results...)
	}
	return "", fmt.Errorf("not done after %d turns", maxTurns)
}

// call hands the model's message to the gateway as it is, and gets the tool messages for the next turn.
func (a *agent) call(ctx context.Context, said openai.ChatCompletionMessage) ([]openai.ChatCompletionMessage, error) {
	body := map[string]any{"message": said, "context": map[string]string{"agent": "refunds", "task": a.ticket}}
	var results []openai.ChatCompletionMessage
	err := a.ask(ctx, http.MethodPost, "/v1/openai/tool_calls", body, &results)
	return results, err
}

// ask sends one request to the gateway.
func (a *agent) ask(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.gateway+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the gateway answered %s: %s", res.Status, answer)
	}
	return json.Unmarshal(answer, into)
}
