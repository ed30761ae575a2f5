// Package simlife holds the simulator against life: the same traffic goes through
// [fairlead/sim] and through a real server, broker, agents and clients.
//
//   - With the same arrivals and engine times the order of hand-outs is the same,
//     request by request: for the duel of two floods as it was recorded, and for a slice
//     of the Azure traces, where simulator and broker walk in step, because which of two
//     events a broker sees first within a millisecond is nobody's promise.
//   - With other engine times, those of the model, shares agree within one per cent.
package simlife
