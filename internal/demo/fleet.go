package demo

import (
	"context"
	"fmt"
	"sync"

	"github.com/rs/zerolog"

	"fairlead/agent"
	"fairlead/agent/engine/mock"
)

// crew is the agents with their engines.
type crew struct {
	fleet             Fleet
	url               string
	log               zerolog.Logger
	fail              func(error) // takes what ends an agent unasked
	stop, abort       context.Context
	endWork, endAbort context.CancelFunc
	agents            sync.WaitGroup
}

func newCrew(f Fleet, url string, log zerolog.Logger, fail func(error)) *crew {
	c := &crew{fleet: f, url: url, log: log, fail: fail}
	c.abort, c.endAbort = context.WithCancel(context.Background())
	c.stop, c.endWork = context.WithCancel(c.abort)
	return c
}

// join starts the agents, each with a connection of its own.
func (c *crew) join() error {
	for i := range c.fleet.Workers {
		if err := c.add(i); err != nil {
			return err
		}
	}
	return nil
}

func (c *crew) add(i int) error {
	cfg := c.fleet.Engine
	cfg.Seed += uint64(i)
	engine, err := mock.New(cfg)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("gpu-%d", i+1)
	log := c.log.With().Str("worker", name).Logger()
	a, err := agent.New(agent.Config{
		URL: c.url, Worker: name, Engine: engine, Slots: c.fleet.Slots, Speed: cfg.PrefillRate * cfg.Speedup, Log: &log,
	})
	if err != nil {
		_ = engine.Close() // always nil
		return err
	}
	c.agents.Go(func() {
		err := a.Run(c.stop, c.abort)
		_ = engine.Close() // always nil
		if err != nil {
			c.fail(err)
		}
	})
	return nil
}

// rest lets the agents finish what they have, and waits until they have left.
func (c *crew) rest() {
	c.endWork()
	c.agents.Wait()
}

// dismiss ends the agents at once, and waits for them. It may be called after rest.
func (c *crew) dismiss() {
	c.endAbort()
	c.agents.Wait()
}
