package accounts_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fairlead/internal/accounts"
	"fairlead/internal/store"
	"fairlead/wire"
)

// stage is a deployment with its streams and somebody in it who means harm.
type stage struct {
	*rig
	op      *store.Store // everything may be seen by an operator
	nc      *nats.Conn   // the attacker's
	who     string
	refused chan error
}

// on puts an attacker on stage.
func (r *rig) on(op *store.Store, who, inbox string) *stage {
	s := &stage{rig: r, op: op, who: who}
	s.nc, s.refused = r.connect(who, inbox)
	return s
}

func (r *rig) operator() *store.Store {
	r.t.Helper()
	nc, _ := r.connect("op-1", "_INBOX.op-1")
	st, err := store.Open(nc, r.names)
	must(r.t, err)
	must(r.t, st.Ensure(r.ctx(), store.Options{}))
	return st
}

// denied waits for the server to refuse something.
func (s *stage) denied(what string) {
	s.t.Helper()
	select {
	case err := <-s.refused:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			s.t.Errorf("%s, %s: %v; want a violation of permissions", s.who, what, err)
		}
	case <-time.After(patience):
		s.t.Errorf("%s, %s: nobody refused it", s.who, what)
	}
}

// lasts are the last sequences of the streams, once all that was sent before has been
// taken in. What an attack stores may carry another subject than the one it aimed at,
// so that only the sequences tell.
func (s *stage) lasts() map[string]uint64 {
	s.t.Helper()
	must(s.t, s.nc.Flush())
	n := s.names
	last := map[string]uint64{}
	for stream, subject := range map[string]string{
		"REQ": n.Req("canary"), "WORK": n.Reg("canary"), "DONE": n.Done("canary"), "RES": n.Res(1), "DEAD": n.Dead("canary"), "POLICY": "policy",
	} {
		ack, err := s.op.JS.Publish(s.ctx(), subject, nil)
		must(s.t, err)
		last[stream] = ack.Sequence
	}
	return last
}

// stored runs an attack and returns how many messages it left in each stream, but for
// those that it is allowed to leave.
func (s *stage) stored(allowed map[string]uint64, attack func()) map[string]uint64 {
	s.t.Helper()
	before := s.lasts()
	attack()
	left := map[string]uint64{}
	for stream, last := range s.lasts() {
		if n := last - before[stream] - 1 - allowed[stream]; n != 0 { // 1 is the canary
			left[stream] = n
		}
	}
	return left
}

// untouched checks that an attack leaves nothing.
func (s *stage) untouched(what string, allowed map[string]uint64, attack func()) {
	s.t.Helper()
	if left := s.stored(allowed, attack); len(left) > 0 {
		s.t.Errorf("%s, %s: left %v", s.who, what, left)
	}
}

// TestForbiddenSubjects: what nobody of the role may say or hear.
func TestForbiddenSubjects(t *testing.T) {
	r := newRig(t, "")
	op := r.operator()
	streams := []string{
		"$JS.API.STREAM.DELETE.REQ", "$JS.API.STREAM.PURGE.WORK", "$JS.API.STREAM.UPDATE.REQ", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.NAMES",
		"$JS.API.STREAM.MSG.DELETE.REQ", "$JS.API.STREAM.INFO.REQ", "$JS.API.CONSUMER.CREATE.REQ", "$JS.API.CONSUMER.CREATE.WORK.x.work.gpu-1.1", "$JS.API.CONSUMER.LIST.WORK",
		"$JS.API.STREAM.MSG.GET.REQ", "$JS.API.DIRECT.GET.REQ", "$JS.API.INFO", "$SYS.REQ.SERVER.PING", "$O.any.C.x", "$KV.any.x",
		"fairlead.api.STREAM.DELETE.REQ", "fairlead.api.STREAM.PURGE.WORK", "fairlead.api.STREAM.MSG.DELETE.REQ", "fairlead.api.CONSUMER.NAMES.WORK", "fairlead.api.CONSUMER.LIST.WORK",
		"fairlead.api.CONSUMER.CREATE.REQ", "fairlead.api.CONSUMER.CREATE.WORK", "fairlead.api.CONSUMER.DURABLE.CREATE.WORK.x", "fairlead.api.STREAM.UPDATE.WORK", "fairlead.api.STREAM.LEADER.STEPDOWN.WORK",
	}
	brokers := []string{"work.gpu-1.1", "work.gpu-2.1", "verdict.7", "lead", "epoch.3", "drr", "policy", "dead.a", "agent.gpu-1.1", "agent.gpu-2.1"}
	for _, tc := range []struct {
		who, inbox string
		say, hear  []string
	}{
		{"gw-1", "_INBOX.gw-1",
			[]string{"done.gpu-1", "reg.gpu-1", "load.gpu-1", "ev.gpu-1", "res.1", "_INBOX.gw-2.x", "_INBOX.gw-1.x", "_AGENT.gpu-1.x", "$JS.ACK.WORK.x.1.1.1.1.0",
				"fairlead.api.DIRECT.GET.RES", "fairlead.api.STREAM.MSG.GET.RES", "fairlead.api.DIRECT.GET.REQ",
				"fairlead.api.DIRECT.GET.OBJ_BODIES", "fairlead.api.STREAM.MSG.GET.OBJ_BODIES", "fairlead.api.STREAM.PURGE.OBJ_BODIES"},
			[]string{"_INBOX.gw-2.>", "_INBOX.>", "_INBOX.*.>", ">", "res.*", "res.5", "load.*", "req.*", "work.>", "done.*", "_AGENT.gpu-1.>", "ctl.status", "$JS.EVENT.>"}},
		{"gw-2", "_INBOX.gw-2",
			[]string{"done.gpu-1", "res.1", "fairlead.api.DIRECT.GET.REQ", "fairlead.api.STREAM.MSG.GET.DEAD"},
			[]string{"_INBOX.gw-1.>", "_INBOX.>", ">", "ctl.*"}},
		{"gpu-1", "_AGENT.gpu-1",
			[]string{"req.a", "req.a.gpu-1", "ctl.cancel", "ctl.status", "done.gpu-2", "reg.gpu-2", "load.gpu-2", "ev.gpu-2", "_AGENT.gpu-2.x", "$O.BODIES.M.x", "$O.BODIES.C.x",
				"fairlead.api.CONSUMER.CREATE.WORK.x.work.gpu-2.1", "fairlead.api.CONSUMER.CREATE.WORK.x.reg.gpu-1", "fairlead.api.DIRECT.GET.WORK", "fairlead.api.DIRECT.GET.RES", "fairlead.api.CONSUMER.INFO.REQ.x"},
			[]string{"agent.gpu-2.*", "agent.>", "_AGENT.gpu-2.>", "_INBOX.gw-1.>", "_INBOX.>", ">", "work.>", "req.*", "load.*", "res.*"}},
	} {
		s := r.on(op, tc.who, tc.inbox)
		for _, subject := range append(append(tc.say, streams...), brokers...) {
			must(t, s.nc.Publish(subject, []byte("{}")))
			must(t, s.nc.Flush())
			s.denied("publishing on " + subject)
		}
		for _, subject := range tc.hear {
			_, err := s.nc.SubscribeSync(subject)
			must(t, err)
			must(t, s.nc.Flush())
			s.denied("listening on " + subject)
		}
	}
}

// targets are where an answer would do harm.
var targets = []string{"req.a", "work.gpu-1.7", "work.gpu-2.7", "reg.gpu-2", "verdict.7", "lead", "epoch.3", "drr", "done.gpu-2", "dead.a"}

// TestFrontendsAnswers: nothing that a frontend may ask is answered into a stream.
func TestFrontendsAnswers(t *testing.T) {
	r := newRig(t, "")
	op := r.operator()
	done := &wire.Done{ID: 1, Attempt: 1, Worker: "gpu-2", Status: wire.StatusOK}
	_, err := op.JS.PublishMsg(r.ctx(), &nats.Msg{Subject: "res.77", Data: wire.Encode(done)})
	must(t, err)
	ctl, err := op.NC.Subscribe("ctl.status", func(m *nats.Msg) { _ = m.Respond(wire.Encode(done)) }) // as a broker does
	must(t, err)
	defer ctl.Unsubscribe()
	must(t, op.NC.Flush())
	s := r.on(op, "gw-2", "_INBOX.gw-2")
	for _, target := range targets {
		for ask, body := range map[string]string{
			"req.b": "{}", "ctl.status": "", "fairlead.api.STREAM.MSG.GET.RES": `{"last_by_subj":"res.77"}`, "fairlead.api.DIRECT.GET.RES": `{"last_by_subj":"res.77"}`,
		} {
			s.untouched(ask+" answered on "+target, map[string]map[string]uint64{"req.b": {"REQ": 2}}[ask], func() {
				must(t, s.nc.PublishRequest(ask, target, []byte(body)))
				_, err := s.nc.RequestWithContext(s.ctx(), ask, []byte(body)) // what was asked before has been answered as well
				must(t, err)
			})
		}
	}
}

// claim hands a claim out as a broker does, without its fence when fenced is false.
func (s *stage) claim(subject string, id uint64, fenced bool) {
	s.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = wire.Encode(&wire.Claim{ID: id, Attempt: 1, Class: "a"})
	if fenced {
		guard, err := s.op.JS.Publish(s.ctx(), "epoch.9", nil)
		must(s.t, err)
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, itoa(guard.Sequence))
		m.Header.Set(jetstream.ExpectedLastSubjSeqSubjHeader, "epoch.9")
	}
	_, err := s.op.JS.PublishMsg(s.ctx(), m)
	must(s.t, err)
}

func itoa(n uint64) string { b, _ := json.Marshal(n); return string(b) }

// api is JetStream, by its name in the attacker's account.
func (s *stage) api(prefix string) *store.Store {
	s.t.Helper()
	if s.flat {
		prefix = ""
	}
	st, err := store.OpenAs(s.nc, s.names, prefix)
	must(s.t, err)
	return st
}

// consumer makes an agent's consumer on its own claims.
func (s *stage) consumer(name, filter string, change func(*jetstream.ConsumerConfig)) (jetstream.Consumer, error) {
	st := s.api(accounts.APIPrefix)
	cfg := jetstream.ConsumerConfig{Name: name, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy, MemoryStorage: true}
	if change != nil {
		change(&cfg)
	}
	return st.JS.CreateConsumer(s.ctx(), "WORK", cfg)
}

// TestAgentsAnswers: nothing that an agent may ask is answered into a stream; above
// all not a pull, nor a read of a request whose text somebody chose.
func TestAgentsAnswers(t *testing.T) {
	r := newRig(t, "")
	op := r.operator()
	s := r.on(op, "gpu-1", "_AGENT.gpu-1")
	forged := wire.Encode(&wire.Done{ID: 1, Attempt: 1, Worker: "gpu-2", Status: wire.StatusOK})
	ack, err := op.JS.Publish(r.ctx(), "req.c", forged) // by a frontend that is in it
	must(t, err)
	_, err = s.consumer("agent-x", "work.gpu-1.1", nil)
	must(t, err)
	read := `{"seq":` + itoa(ack.Sequence) + `}`
	for _, target := range append(targets, "done.gpu-1", "res.7") {
		for ask, body := range map[string]string{
			"fairlead.api.DIRECT.GET.REQ": read, "fairlead.api.STREAM.MSG.GET.REQ": read, "fairlead.api.STREAM.INFO.WORK": "", "done.gpu-1": "x", "reg.gpu-1": "x",
			"res.6": "x", "fairlead.api.CONSUMER.INFO.WORK.agent-x": "",
		} {
			own := map[string]map[string]uint64{"done.gpu-1": {"DONE": 2}, "reg.gpu-1": {"WORK": 2}, "res.6": {"RES": 2}}
			s.untouched(ask+" answered on "+target, own[ask], func() {
				must(t, s.nc.PublishRequest(ask, target, []byte(body)))
				_, err := s.nc.RequestWithContext(s.ctx(), ask, []byte(body))
				must(t, err)
			})
		}
		s.untouched("a pull answered on "+target, map[string]uint64{"WORK": 2}, func() {
			s.claim("work.gpu-1.1", 5, false)
			s.claim("work.gpu-1.1", 6, false)
			must(t, s.nc.PublishRequest("fairlead.api.CONSUMER.MSG.NEXT.WORK.agent-x", target, []byte(`{"batch":1}`)))
			m, err := s.nc.RequestWithContext(s.ctx(), "fairlead.api.CONSUMER.MSG.NEXT.WORK.agent-x", []byte(`{"batch":1}`))
			must(t, err)
			must(t, m.Ack())
		})
	}
}

// TestAgentsConsumers: an agent takes its own worker's claims alone, and sees no other
// agent's consumer.
func TestAgentsConsumers(t *testing.T) {
	r := newRig(t, "")
	op := r.operator()
	victim, s := r.on(op, "gpu-2", "_AGENT.gpu-2"), r.on(op, "gpu-1", "_AGENT.gpu-1")
	_, err := victim.consumer("agent-gpu-2-1-SECRET", "work.gpu-2.1", nil)
	must(t, err)
	s.claim("work.gpu-2.1", 5, true)
	for name, body := range map[string]string{
		"another filter in the body": `{"stream_name":"WORK","config":{"name":"y","filter_subject":"work.gpu-2.1","ack_policy":"explicit"}}`,
		"several filters":            `{"stream_name":"WORK","config":{"name":"y","filter_subjects":["work.gpu-2.1","work.gpu-1.1"],"ack_policy":"explicit"}}`,
		"no filter":                  `{"stream_name":"WORK","config":{"name":"y","ack_policy":"explicit"}}`,
		"another stream":             `{"stream_name":"REQ","config":{"name":"y","filter_subject":"work.gpu-1.1","ack_policy":"explicit"}}`,
	} {
		m, err := s.nc.RequestWithContext(s.ctx(), "fairlead.api.CONSUMER.CREATE.WORK.y.work.gpu-1.1", []byte(body))
		must(t, err)
		var answer struct {
			Error *jetstream.APIError `json:"error"`
		}
		must(t, json.Unmarshal(m.Data, &answer))
		if answer.Error == nil {
			t.Errorf("%s: %s", name, m.Data)
		}
	}
	for _, guess := range []string{"agent-gpu-2-1", "agent-gpu-2-1-", "agent-gpu-2-1-SECRE"} {
		_, err := s.nc.RequestWithContext(s.ctx(), "fairlead.api.CONSUMER.MSG.NEXT.WORK."+guess, []byte(`{"batch":1,"no_wait":true}`))
		if !errors.Is(err, nats.ErrNoResponders) {
			t.Errorf("a pull from %s: %v; want that there is none", guess, err)
		}
	}
	m, err := victim.nc.RequestWithContext(s.ctx(), "fairlead.api.CONSUMER.MSG.NEXT.WORK.agent-gpu-2-1-SECRET", []byte(`{"batch":1,"no_wait":true}`))
	must(t, err)
	if len(m.Data) == 0 {
		t.Errorf("the claim is not there for its own agent: %+v", m.Header)
	}
}

// TestPushConsumer: an agent that has its claims pushed gets them heard by who listens
// to a subject, but into no stream.
func TestPushConsumer(t *testing.T) {
	r := newRig(t, "")
	op := r.operator()
	s := r.on(op, "gpu-1", "_AGENT.gpu-1")
	heard, err := op.NC.SubscribeSync("somewhere")
	must(t, err)
	must(t, op.NC.Flush())
	for _, target := range append([]string{"somewhere"}, targets...) {
		s.untouched("claims pushed to "+target, map[string]uint64{"WORK": 1}, func() {
			body := `{"stream_name":"WORK","config":{"name":"p","filter_subject":"work.gpu-1.1","ack_policy":"explicit","deliver_subject":"` + target + `"}}`
			_, err := s.nc.RequestWithContext(s.ctx(), "fairlead.api.CONSUMER.CREATE.WORK.p.work.gpu-1.1", []byte(body))
			must(t, err)
			s.claim("work.gpu-1.1", 5, false)
			if target == "somewhere" { // so it would be: what remains, says docs/security.md
				_, err := heard.NextMsg(patience)
				must(t, err)
			}
			_, err = s.nc.RequestWithContext(s.ctx(), "fairlead.api.CONSUMER.DELETE.WORK.p", nil)
			must(t, err)
		})
	}
}
