package prompt

import (
	"encoding/base64"
	"encoding/json"
	"image"
	_ "image/gif" // formats of which the size can be read
	_ "image/jpeg"
	_ "image/png"
	"math"
	"strings"
)

// What media cost, in tokens; see the package comment.
const (
	imageBase    = 85
	imageTile    = 170
	tileSide     = 512
	imageFit     = 2048
	imageShort   = 768
	imageUnknown = 1024 // side of an image whose size is not known
	audioBytes   = 1600
	fileBytes    = 4
)

// headBytes is how much of an image is read for its size, encoded: a JPEG may
// have a preview before it.
const headBytes = 256 << 10

// image is what the image of a part costs.
func (p *part) image() float64 {
	url, detail := "", p.Detail
	if json.Unmarshal(p.ImageURL, &url) != nil {
		var o struct {
			URL    string `json:"url"`
			Detail string `json:"detail"`
		}
		if json.Unmarshal(p.ImageURL, &o) != nil {
			return imageBase
		}
		url, detail = o.URL, o.Detail
	}
	if detail == "low" {
		return imageBase
	}
	return imageTokens(imageSize(url))
}

func imageTokens(width, height float64) float64 {
	scale := min(1, imageFit/max(width, height))
	scale *= min(1, imageShort/(min(width, height)*scale))
	return imageBase + imageTile*math.Ceil(width*scale/tileSide)*math.Ceil(height*scale/tileSide)
}

// imageSize reads the size of an image in a data URL, in pixels.
func imageSize(url string) (width, height float64) {
	head, data, _ := strings.Cut(url[:min(len(url), headBytes)], ",")
	if !strings.HasPrefix(head, "data:") || !strings.HasSuffix(head, ";base64") {
		return imageUnknown, imageUnknown
	}
	c, _, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	if err != nil || c.Width < 1 || c.Height < 1 {
		return imageUnknown, imageUnknown
	}
	return float64(c.Width), float64(c.Height)
}

// audioTokens and fileTokens take the length of base64, which holds three
// quarters of it.
func audioTokens(encoded int) float64 { return float64(encoded) * 3 / 4 / audioBytes }
func fileTokens(encoded int) float64  { return float64(encoded) * 3 / 4 / fileBytes }
