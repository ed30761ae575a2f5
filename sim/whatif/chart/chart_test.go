package chart

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"gonum.org/v1/plot/plotter"

	"fairlead/sim"
)

// TestThin: what waited when is the same line every time, and never longer than a chart needs.
func TestThin(t *testing.T) {
	lines := func() map[string]plotter.XYs {
		b := &backlog{waiting: map[string]int{}, points: map[string]plotter.XYs{}, step: time.Second}
		for i := range 8 {
			b.class = append(b.class, strconv.Itoa(i))
		}
		for i := range 3 * mostPoints {
			b.observe(sim.Happening{At: time.Duration(i) * time.Second, Kind: sim.Asked, Request: i % len(b.class)})
		}
		return b.points
	}
	want := lines()
	for class, points := range want {
		if n := len(points); n > mostPoints || n < mostPoints/2 {
			t.Errorf("%d points of class %s", n, class)
		}
	}
	for range 5 {
		if !reflect.DeepEqual(lines(), want) {
			t.Fatal("the same happenings made other lines")
		}
	}
}
