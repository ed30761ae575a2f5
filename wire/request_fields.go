package wire

import (
	"slices"
	"strconv"
	"strings"
)

// field reads one header into the request; it returns what would have been
// right, or "".
type field struct {
	name string
	read func(p *parser, value string) (want string)
}

// lookup finds a request header by its name, whatever the case.
func lookup(key string) (field, bool) {
	if f, ok := fields[key]; ok {
		return f, true
	}
	if !hasPrefixFold(key, "Fairlead-") && !strings.EqualFold(key, HeaderTraceparent) {
		return field{}, false
	}
	for name, f := range fields {
		if strings.EqualFold(name, key) {
			return f, true
		}
	}
	return field{}, false
}

var (
	pins    = map[string]Pin{"hard": PinHard, "prefer": PinPrefer}
	retries = map[string]Retry{"auto": RetryAuto, "always": RetryAlways, "never": RetryNever}
	bools   = map[string]bool{"true": true, "false": false}
)

// fields is every header of a request. It is read only.
var fields = index(
	field{HeaderReplyTo, func(p *parser, s string) string { return p.replyTo(s) }},
	field{HeaderPath, func(p *parser, s string) string {
		if !slices.Contains(Paths(), s) {
			return "one of " + strings.Join(Paths(), " ")
		}
		p.req.Path = s
		return ""
	}},
	field{HeaderModel, func(p *parser, s string) string {
		if s == "" || len(s) > maxName {
			return "a model name of 1 to 256 bytes"
		}
		p.req.Model = s
		return ""
	}},
	field{HeaderInputTokens, func(p *parser, s string) string { return readTokens(s, &p.req.Input) }},
	field{HeaderCachedTokens, func(p *parser, s string) string { return readTokens(s, &p.req.Cached) }},
	field{HeaderMaxOutput, func(p *parser, s string) string { return readTokens(s, &p.req.MaxOutput) }},
	field{HeaderPriority, func(p *parser, s string) string { return readPriority(s, &p.req.Priority) }},
	field{HeaderStrictPriority, func(p *parser, s string) string {
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return "a decimal number, 0 to 4294967295"
		}
		p.req.Strict = uint32(n)
		return ""
	}},
	field{HeaderTenant, func(p *parser, s string) string { return readToken(s, &p.req.Tenant) }},
	field{HeaderPinWorker, func(p *parser, s string) string { return readToken(s, &p.worker) }},
	field{HeaderDPRank, func(p *parser, s string) string {
		n, err := strconv.ParseUint(s, 10, 16)
		if err != nil {
			return "a decimal number, 0 to 65535"
		}
		p.req.Rank = int32(n)
		return ""
	}},
	field{HeaderPin, func(p *parser, s string) string { return readChoice(s, &p.req.Pin, pins, "hard or prefer") }},
	field{HeaderAllowWorkers, func(p *parser, s string) string { return readList(s, &p.req.Allow) }},
	field{HeaderRequireTaints, func(p *parser, s string) string { return readList(s, &p.req.Require) }},
	field{HeaderPreferTaints, func(p *parser, s string) string { return readList(s, &p.req.Prefer) }},
	field{HeaderTTL, func(p *parser, s string) string { return readTTL(s, &p.req.TTL) }},
	field{HeaderRetry, func(p *parser, s string) string {
		return readChoice(s, &p.req.Retry, retries, "auto, always or never")
	}},
	field{HeaderNoQueue, func(p *parser, s string) string {
		return readChoice(s, &p.req.NoQueue, bools, "true or false")
	}},
	field{HeaderRedriveOf, func(_ *parser, s string) string {
		if _, err := strconv.ParseUint(s, 10, 64); err != nil {
			return "the id of the request that is asked again"
		}
		return ""
	}},
	field{HeaderBody, func(p *parser, s string) string { return readToken(s, &p.req.Body) }},
	field{HeaderBodySize, func(p *parser, s string) string {
		n, err := strconv.ParseUint(s, 10, 40)
		if err != nil || n == 0 {
			return "a decimal number of bytes, 1 to 1099511627775"
		}
		p.req.BodySize = int(n)
		return ""
	}},
	field{HeaderTraceparent, func(p *parser, s string) string {
		if len(s) > 128 {
			return "a W3C trace context of at most 128 bytes"
		}
		p.req.Traceparent = s
		return ""
	}},
)

func index(list ...field) map[string]field {
	m := make(map[string]field, len(list))
	for _, f := range list {
		m[f.name] = f
	}
	return m
}

// RequestHeaders lists the names of every header that a request may carry,
// sorted.
func RequestHeaders() []string {
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// replyTo takes a literal subject that is not the server's and not ours.
func (p *parser) replyTo(s string) string {
	if want := p.rules.CheckReply(s); want != "" {
		return want
	}
	p.req.ReplyTo = s
	return ""
}

// CheckReply says what a reply subject would have to be, or "" when s is one.
// The agent checks again what the broker has checked: a claim may be older than
// a deployment's rules.
func (r Rules) CheckReply(s string) (want string) {
	switch {
	case s == "" || len(s) > 1024 || !literal(s):
		return "a literal subject of at most 1024 bytes: no empty tokens, spaces, * or >"
	case strings.HasPrefix(s, "$"):
		return "a subject outside the server's own $…"
	case r.Names.Ours(s):
		return "a subject that is not one of Fairlead's own, such as an inbox"
	}
	if len(r.ReplyPrefixes) == 0 || slices.ContainsFunc(r.ReplyPrefixes, func(x string) bool { return strings.HasPrefix(s, x) }) {
		return ""
	}
	return "a subject that starts with " + strings.Join(r.ReplyPrefixes, " or ")
}

// literal reports whether s is a subject without wildcards.
func literal(s string) bool {
	start := true // of a token
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c == 0x7f || c == '*' || c == '>':
			return false
		case c == '.':
			if start {
				return false
			}
			start = true
		default:
			start = false
		}
	}
	return !start
}
