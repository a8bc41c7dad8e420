package agentgw

// Mode says what a caller wants of a call.
type Mode string

const (
	Execute   Mode = "execute"   // the default: decide, and send where the decision allows
	Check     Mode = "check"     // decide and send nothing, leave nothing behind
	Redeliver Mode = "redeliver" // a bulk resend: what is done is replayed, what is missing executes
)

// Call is one request by an agent, a robot or a script, as it came in through a door.
type Call struct {
	Tenant    string // from the credential, never from the request
	Principal string // name of the credential; "" where none is configured
	Tool      string // the tool's name, "" where a proxied request belongs to no tool
	Request   *Request

	// Arguments is the JSON text of the arguments, as the caller sent it. The proxy door assembles it from path, query and body.
	Arguments []byte

	IdempotencyKey string // the caller's key; "" where none came
	RepeatToken    string
	SameAs         string // "it is that one": an effect id, the answer to `similar`
	Context        Context
	Mode           Mode
	Batch          string // names a bulk run, for logs and lists
	Nonce          string // begin and complete: names this claim, so that asking again gets the same answer
}

// Context is what the caller says about itself. It is never identity, but for Task where the policy's scope is `task`.
type Context struct {
	Agent  string `json:"agent,omitempty"`
	Run    string `json:"run,omitempty"`
	Task   string `json:"task,omitempty"`
	CallID string `json:"call_id,omitempty"`
}

// Request is the HTTP request behind a call of the proxy door; its body is forwarded as it came.
type Request struct {
	Upstream string // the upstream's name in the configuration
	Method   string
	Path     string // escaped path below the upstream's URL, with its leading slash, as it came
	Query    string // raw query, without the question mark
	Header   []Header
	Body     []byte
}

// Header is one header line; a name may occur on several.
type Header struct{ Name, Value string }
