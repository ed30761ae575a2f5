package wire

// Header is a NATS message header: canonical key to values. nats.Header can be
// used as one.
type Header = map[string][]string

// Headers of a request, all optional; see [ParseRequest] for their forms.
const (
	HeaderReplyTo        = "Fairlead-Reply-To"
	HeaderPath           = "Fairlead-Path"
	HeaderModel          = "Fairlead-Model"
	HeaderInputTokens    = "Fairlead-Input-Tokens"
	HeaderCachedTokens   = "Fairlead-Cached-Tokens"
	HeaderMaxOutput      = "Fairlead-Max-Output-Tokens"
	HeaderPriority       = "Fairlead-Priority"
	HeaderStrictPriority = "Fairlead-Strict-Priority"
	HeaderTenant         = "Fairlead-Tenant"
	HeaderPinWorker      = "Fairlead-Worker"
	HeaderDPRank         = "Fairlead-DP-Rank"
	HeaderPin            = "Fairlead-Pin"
	HeaderAllowWorkers   = "Fairlead-Allow-Workers"
	HeaderRequireTaints  = "Fairlead-Require-Taints"
	HeaderPreferTaints   = "Fairlead-Prefer-Taints"
	HeaderTTL            = "Fairlead-TTL"
	HeaderRetry          = "Fairlead-Retry"
	HeaderNoQueue        = "Fairlead-No-Queue"
	HeaderRedriveOf      = "Fairlead-Redrive-Of"
	HeaderBody           = "Fairlead-Body"
	HeaderBodySize       = "Fairlead-Body-Size"
	HeaderTraceparent    = "traceparent"
)

// Headers of a result. Every message carries id, attempt, index, worker and
// claim; the last one carries the rest as far as they apply. HeaderResultWorker
// is spelt like [HeaderPinWorker]: the worker that answers.
const (
	HeaderID           = "Fairlead-Id"
	HeaderAttempt      = "Fairlead-Attempt"
	HeaderIndex        = "Fairlead-Index"
	HeaderResultWorker = "Fairlead-Worker"
	HeaderClaim        = "Fairlead-Claim"
	HeaderFinal        = "Fairlead-Final"
	HeaderStatus       = "Fairlead-Status"
	HeaderUsage        = "Fairlead-Usage"
	HeaderReason       = "Fairlead-Reason"
	HeaderErrorCode    = "Nats-Service-Error-Code"
	HeaderError        = "Nats-Service-Error"
	HeaderRetryAfter   = "Retry-After"
	HeaderContentType  = "Content-Type"
)

// Headers that a dead letter carries beside those of its request.
const (
	HeaderDeadID       = "Fairlead-Dead-Id"       // id that it had
	HeaderDeadReason   = "Fairlead-Dead-Reason"   // why it was given up
	HeaderDeadDetail   = "Fairlead-Dead-Detail"   // a sentence
	HeaderDeadAttempts = "Fairlead-Dead-Attempts" // how often it was handed out
	HeaderDeadWorker   = "Fairlead-Dead-Worker"   // the last worker
	HeaderDeadSubject  = "Fairlead-Dead-Subject"  // the subject that it was asked on
)

// Headers of a stored policy, all optional.
const (
	HeaderPolicyAuthor   = "Fairlead-Policy-Author"   // who stored it, as user@host
	HeaderPolicyFile     = "Fairlead-Policy-File"     // name of the file that it was read from
	HeaderPolicyRestores = "Fairlead-Policy-Restores" // the version that it repeats
)

// NATS's own headers that the protocol uses.
const (
	HeaderMsgID              = "Nats-Msg-Id"
	HeaderMsgSize            = "Nats-Msg-Size" // set on headers-only deliveries: bytes of the body
	HeaderNatsTTL            = "Nats-TTL"
	HeaderRollup             = "Nats-Rollup"
	HeaderExpectedSubject    = "Nats-Expected-Last-Subject-Sequence-Subject"
	HeaderExpectedSubjectSeq = "Nats-Expected-Last-Subject-Sequence"
)

// The engine paths that a request may name.
const (
	PathChat        = "/v1/chat/completions"
	PathCompletions = "/v1/completions"
	PathEmbeddings  = "/v1/embeddings"
	PathResponses   = "/v1/responses"
)

// Paths lists the engine paths that a request may name; the first is the default.
func Paths() []string { return []string{PathChat, PathCompletions, PathEmbeddings, PathResponses} }

// First is the first value of a header under its canonical key, or "".
func First(h Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Last is the last value of a header, or "": what the server says of a message that it
// delivers. It adds its own headers behind those of the message, where anybody may have
// put one of the same name.
func Last(h Header, key string) string {
	if v := h[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}
