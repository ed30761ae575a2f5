package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"fairlead/client"
	"fairlead/gateway/keys"
	"fairlead/wire"
)

// Codes of errors that are the gateway's own; the others are Fairlead's reasons.
const (
	codeInvalidKey   = "invalid_api_key"
	codeForbidden    = "not_allowed"
	codeNotFound     = "not_found"
	codeBodyTimeout  = "body_timeout"
	codeRateLimited  = "key_limit"
	codeOverloaded   = "gateway_overloaded"
	codeUnavailable  = "store_unavailable"
	codeConflict     = "conflict"
	codeUnsupported  = "unsupported"
	codeInternal     = "internal_error"
	unavailableRetry = time.Second
)

// fault is an error as the client is told it.
type fault struct {
	status  int
	code    string // a reason of Fairlead, or one of the codes above
	message string
	param   string // the field or header at fault, if one is
	retry   time.Duration
	engine  json.RawMessage // the engine's own error object, when it refused
}

func (f *fault) Error() string { return f.code + ": " + f.message }

// reasoned makes a fault with the status of a reason.
func reasoned(reason wire.Reason, format string, args ...any) *fault {
	return &fault{status: reason.Code(), code: string(reason), message: fmt.Sprintf(format, args...)}
}

// faultOf says what an error means to the client.
func faultOf(err error) *fault {
	var f *fault
	var e *client.Error
	var l *keys.LimitError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &e):
		return &fault{status: e.Code, code: string(e.Reason), message: e.Detail, retry: e.RetryAfter, engine: engineError(e.Body)}
	case errors.As(err, &l):
		return &fault{status: http.StatusTooManyRequests, code: codeRateLimited, message: l.Error(), retry: l.Retry}
	case errors.Is(err, errLeaving):
		return reasoned(wire.ShuttingDown, "%v; ask again, elsewhere", errLeaving)
	default: // the store does not answer, or no broker leads
		return &fault{status: http.StatusServiceUnavailable, code: codeUnavailable, message: "the queue cannot be reached now; ask again", retry: unavailableRetry}
	}
}

// engineError is the error object in an engine's own words, if it has OpenAI's
// shape, bare or wrapped.
func engineError(body []byte) json.RawMessage {
	var wrapped struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(body, &wrapped) != nil {
		return nil
	}
	if len(wrapped.Error) > 0 && wrapped.Error[0] == '{' {
		return wrapped.Error
	}
	if wrapped.Message != "" {
		return body
	}
	return nil
}

// shape is OpenAI's error object.
type shape struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// shape tells the fault in OpenAI's words. What an engine said itself stays, but
// for a code that is no word.
func (f *fault) shape() shape {
	s := shape{Message: f.message, Type: f.kind(), Code: f.code}
	if f.param != "" {
		s.Param = &f.param
	}
	var own struct {
		Message, Type string
		Param, Code   any
	}
	if f.engine == nil || json.Unmarshal(f.engine, &own) != nil {
		return s
	}
	if own.Message != "" {
		s.Message = own.Message
	}
	if own.Type != "" {
		s.Type = own.Type
	}
	if p, ok := own.Param.(string); ok && p != "" {
		s.Param = &p
	}
	if code, ok := own.Code.(string); ok && code != "" {
		s.Code = code
	}
	return s
}

// kind is OpenAI's type of an error with this status.
func (f *fault) kind() string {
	switch {
	case f.status == http.StatusUnauthorized:
		return "authentication_error"
	case f.status == http.StatusForbidden:
		return "permission_error"
	case f.status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case f.status >= http.StatusInternalServerError:
		return "server_error"
	}
	return "invalid_request_error"
}

// body is the fault as the body of an answer, or the data of an event.
func (f *fault) body() []byte {
	return encode(map[string]shape{"error": f.shape()})
}

// encode writes a value of ours, which never fails.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("gateway: encode %T: %v", v, err)) // structs of strings and numbers
	}
	return data
}
