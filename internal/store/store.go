// Package store holds the store operations that brokers, agents and clients
// share: the streams' configuration, reads that ask the stream's leader,
// deletes and purges. It decides nothing.
package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/wire"
)

// ErrNotFound says that the leader of the stream confirms that it has no such
// message.
var ErrNotFound = errors.New("message not found")

// Error codes of the JetStream API that callers branch on and nats.go does not
// name.
const (
	CodeStreamStoreFailed  jetstream.ErrorCode = 10077 // a limit with DiscardNew, or the disk
	CodeSequenceNotFound   jetstream.ErrorCode = 10043
	CodeMsgDeleteFailed    jetstream.ErrorCode = 10057
	CodeDuplicateInProcess jetstream.ErrorCode = 10158
	CodeMessageTooLarge    jetstream.ErrorCode = 10054 // for the stream's own limit
	CodeHeaderTooLarge     jetstream.ErrorCode = 10097 // more than 64 KiB
	CodeStorageResources   jetstream.ErrorCode = 10047
)

// Store is a connection's view of one Fairlead's streams. It is safe for
// concurrent use.
type Store struct {
	NC    *nats.Conn
	JS    jetstream.JetStream
	Names wire.Names
}

// Open prepares a store on a connection; it sends nothing.
func Open(nc *nats.Conn, names wire.Names) (*Store, error) { return OpenAs(nc, names, "") }

// OpenAs is Open in an account that knows JetStream's API by another name; "" is
// $JS.API.
func OpenAs(nc *nats.Conn, names wire.Names, apiPrefix string) (*Store, error) {
	opt := jetstream.WithDefaultTimeout(callTimeout)
	js, err := jetstream.New(nc, opt)
	if apiPrefix != "" {
		js, err = jetstream.NewWithAPIPrefix(nc, apiPrefix, opt)
	}
	if err != nil {
		return nil, fmt.Errorf("open JetStream: %w", err)
	}
	return &Store{NC: nc, JS: js, Names: names}, nil
}

// callTimeout bounds a call that its context does not.
const callTimeout = 10 * time.Second

// Message is a stored message.
type Message struct {
	Subject string
	Seq     uint64
	Time    time.Time
	Header  nats.Header
	Data    []byte
}

// Get reads a message by its sequence: first from any replica, and when that
// one has no such message, from the stream's leader. Only the leader is
// believed about absence: the errors are then those of LeaderGet.
func (s *Store) Get(ctx context.Context, stream string, seq uint64) (Message, error) {
	if m, err := s.directGet(ctx, stream, seq); err == nil {
		return m, nil
	}
	return s.LeaderGet(ctx, stream, seq)
}

func (s *Store) directGet(ctx context.Context, stream string, seq uint64) (Message, error) {
	r, err := s.request(ctx, "DIRECT.GET."+stream, seqRequest{Seq: seq})
	if err != nil {
		return Message{}, fmt.Errorf("get %d of %s: %w", seq, stream, err)
	}
	if status := statusOf(r); status != "" {
		return Message{}, fmt.Errorf("get %d of %s: status %s", seq, stream, status)
	}
	return fromDirect(r)
}

// fromDirect reads the answer to a direct get, which carries what it says of
// the message in headers of its own.
func fromDirect(r *nats.Msg) (Message, error) {
	seq, err := strconv.ParseUint(wire.Last(r.Header, "Nats-Sequence"), 10, 64)
	if err != nil {
		return Message{}, fmt.Errorf("direct get: header Nats-Sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, wire.Last(r.Header, "Nats-Time-Stamp"))
	if err != nil {
		return Message{}, fmt.Errorf("direct get: header Nats-Time-Stamp: %w", err)
	}
	return Message{Subject: wire.Last(r.Header, "Nats-Subject"), Seq: seq, Time: at, Header: r.Header, Data: r.Data}, nil
}

type seqRequest struct {
	Seq     uint64 `json:"seq,omitempty"`
	LastFor string `json:"last_by_subj,omitempty"`
	NextFor string `json:"next_by_subj,omitempty"`
	Batch   int    `json:"batch,omitempty"`
	NoErase bool   `json:"no_erase,omitempty"`
}

type getResponse struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
}

// LeaderGet reads a message by its sequence from the stream's leader. One that was
// removed is ErrNotFound, one that is newer than all that the leader has ErrBehind.
func (s *Store) LeaderGet(ctx context.Context, stream string, seq uint64) (Message, error) {
	m, err := s.leaderGet(ctx, stream, seqRequest{Seq: seq})
	if errors.Is(err, ErrNotFound) {
		return s.confirmAbsent(ctx, stream, seq)
	}
	return m, err
}

// LeaderLast reads the last message on a subject from the stream's leader. A
// missing message is ErrNotFound.
func (s *Store) LeaderLast(ctx context.Context, stream, subject string) (Message, error) {
	return s.leaderGet(ctx, stream, seqRequest{LastFor: subject})
}

// LeaderNext reads the first message with a sequence of at least seq from the
// stream's leader. When there is none, the error is ErrNotFound.
func (s *Store) LeaderNext(ctx context.Context, stream string, seq uint64) (Message, error) {
	return s.leaderGet(ctx, stream, seqRequest{Seq: max(1, seq), NextFor: ">"})
}

func (s *Store) leaderGet(ctx context.Context, stream string, req seqRequest) (Message, error) {
	var resp getResponse
	if err := s.call(ctx, "STREAM.MSG.GET."+stream, req, &resp); err != nil {
		return Message{}, fmt.Errorf("get from %s: %w", stream, err)
	}
	if resp.Error != nil {
		if resp.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return Message{}, ErrNotFound
		}
		return Message{}, fmt.Errorf("get from %s: %w", stream, resp.Error)
	}
	if resp.Message == nil {
		return Message{}, fmt.Errorf("get from %s: answer without a message", stream)
	}
	m := Message{Subject: resp.Message.Subject, Seq: resp.Message.Seq, Time: resp.Message.Time, Data: resp.Message.Data}
	if len(resp.Message.Header) > 0 {
		h, err := nats.DecodeHeadersMsg(resp.Message.Header)
		if err != nil {
			return Message{}, fmt.Errorf("get from %s: headers: %w", stream, err)
		}
		m.Header = h
	}
	return m, nil
}

// Delete removes one message; one that is already gone is no error. The answer
// comes from the stream's leader, so that afterwards the message is gone for
// good.
func (s *Store) Delete(ctx context.Context, stream string, seq uint64) error {
	err := s.command(ctx, "STREAM.MSG.DELETE."+stream, seqRequest{Seq: seq, NoErase: true})
	var api *jetstream.APIError
	if errors.As(err, &api) && (api.ErrorCode == CodeSequenceNotFound || api.ErrorCode == CodeMsgDeleteFailed) {
		if _, gerr := s.LeaderGet(ctx, stream, seq); errors.Is(gerr, ErrNotFound) {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("delete %d of %s: %w", seq, stream, err)
	}
	return nil
}

// Untouched asks the leader of a stream to delete a message that it cannot have.
// A stream refuses that in its own way; one whose disk failed under it repeats that
// failure instead, and this is the only question that finds out without writing.
// The answer of one stream is to be compared with that of another, known to be well.
func (s *Store) Untouched(ctx context.Context, stream string) error {
	const beyond = math.MaxInt64
	return s.command(ctx, "STREAM.MSG.DELETE."+stream, seqRequest{Seq: beyond, NoErase: true})
}

// PurgeBelow removes every message with a sequence lower than seq.
func (s *Store) PurgeBelow(ctx context.Context, stream string, seq uint64) error {
	if err := s.command(ctx, "STREAM.PURGE."+stream, seqRequest{Seq: seq}); err != nil {
		return fmt.Errorf("purge %s below %d: %w", stream, seq, err)
	}
	return nil
}

// command makes an API call whose answer is only success or an error.
func (s *Store) command(ctx context.Context, subject string, req any) error {
	var resp struct {
		Error   *jetstream.APIError `json:"error"`
		Success bool                `json:"success"`
	}
	if err := s.call(ctx, subject, req, &resp); err != nil {
		return err
	}
	if resp.Error != nil {
		return resp.Error
	}
	if !resp.Success {
		return errors.New("the server answered neither success nor an error")
	}
	return nil
}

func (s *Store) call(ctx context.Context, subject string, req, resp any) error {
	r, err := s.request(ctx, subject, req)
	if err != nil {
		return err
	}
	return json.Unmarshal(r.Data, resp)
}

func (s *Store) request(ctx context.Context, subject string, req any) (*nats.Msg, error) {
	var body []byte
	if req != nil {
		b, err := json.Marshal(req)
		if err != nil {
			return nil, err
		}
		body = b
	}
	ctx, cancel := context.WithTimeout(ctx, s.JS.Options().DefaultTimeout)
	defer cancel()
	return s.NC.RequestWithContext(ctx, s.API(subject), body)
}

// API is the subject of a call of JetStream's API in this account.
func (s *Store) API(call string) string {
	prefix := strings.TrimSuffix(s.JS.Options().APIPrefix, ".")
	return cmp.Or(prefix, strings.TrimSuffix(jetstream.DefaultAPIPrefix, ".")) + "." + call
}
