package figures

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// WriteFiles writes every figure into the folder dir, which it makes, as SVG, PNG and CSV.
func (r *Report) WriteFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of figures: %w", err)
	}
	for i := range r.Figures {
		f := &r.Figures[i]
		for ending, write := range map[string]func(io.Writer) error{".svg": f.SVG, ".png": f.PNG, ".csv": f.CSV} {
			if err := writeFile(filepath.Join(dir, f.ID+ending), write); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFile leaves nothing half written: what is written is whole before the file is touched.
func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write a figure: %w", err)
	}
	return nil
}

// CSV writes a row for every point of f. Low and high hold the middle 90 % of the seeds between them.
func (f *Figure) CSV(w io.Writer) error {
	rows := [][]string{{"panel", "series", "x", "median", "low", "high", "closed_form", "published"}}
	for i, p := range f.Panels {
		name := p.Title
		if name == "" {
			name = strconv.Itoa(i + 1)
		}
		for _, s := range p.Series {
			for _, pt := range s.Points {
				x := field(pt.X)
				if p.Categories != nil {
					x = p.Categories[int(pt.X)]
				}
				rows = append(rows, []string{
					name, s.Name, x, field(pt.Seen.Median), field(pt.Seen.Low), field(pt.Seen.High), field(pt.Theory), field(pt.Published),
				})
			}
		}
	}
	return writeRows(w, rows)
}

func writeRows(w io.Writer, rows [][]string) error {
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// field writes x to six digits, and nothing for NaN.
func field(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}
