// Package enginetest serves what real engines serve, from fixtures: their API as far
// as an adapter uses it, and their exposition. Tests of adapters and of the agent
// stand on it.
package enginetest
