package engine

import "encoding/json"

// usageJSON accepts both spellings: chat and completions count prompt and
// completion tokens, responses count input and output tokens.
type usageJSON struct {
	Prompt        int64        `json:"prompt_tokens"`
	Completion    int64        `json:"completion_tokens"`
	Input         int64        `json:"input_tokens"`
	Output        int64        `json:"output_tokens"`
	PromptDetails *detailsJSON `json:"prompt_tokens_details"`
	InputDetails  *detailsJSON `json:"input_tokens_details"`
}

type detailsJSON struct {
	Cached *int64 `json:"cached_tokens"`
}

// UnmarshalJSON reads an OpenAI usage object.
func (u *Usage) UnmarshalJSON(data []byte) error {
	var raw *usageJSON
	if err := json.Unmarshal(data, &raw); err != nil || raw == nil {
		*u = Usage{}
		return err
	}
	*u = Usage{
		PromptTokens: max(raw.Prompt, raw.Input, 0),
		OutputTokens: max(raw.Completion, raw.Output, 0),
		Known:        true,
	}
	for _, d := range []*detailsJSON{raw.PromptDetails, raw.InputDetails} {
		if d != nil && d.Cached != nil {
			u.CachedTokens, u.CachedKnown = max(*d.Cached, 0), true
		}
	}
	return nil
}

// MarshalJSON writes the usage as chat and completions do.
func (u Usage) MarshalJSON() ([]byte, error) {
	type details struct {
		Cached int64 `json:"cached_tokens"`
	}
	out := struct {
		Prompt     int64    `json:"prompt_tokens"`
		Completion int64    `json:"completion_tokens"`
		Total      int64    `json:"total_tokens"`
		Details    *details `json:"prompt_tokens_details,omitempty"`
	}{Prompt: u.PromptTokens, Completion: u.OutputTokens, Total: u.PromptTokens + u.OutputTokens}
	if u.CachedKnown {
		out.Details = &details{Cached: u.CachedTokens}
	}
	return json.Marshal(out)
}
