package sim

import "net/http"

func minimaxTaskError(status int, code, message string) reply {
	return fail(status, map[string]any{"error": map[string]any{"code": code, "message": message}})
}

// minimaxTaskRefusals are the refusals of version 2, which answers with the status of the error.
var minimaxTaskRefusals = refusals{
	faultPolicy:  minimaxTaskError(http.StatusUnprocessableEntity, "1026", "input new_sensitive"),
	faultInvalid: minimaxTaskError(http.StatusBadRequest, "2013", "invalid params, duration"),
	faultBusy:    minimaxTaskError(http.StatusTooManyRequests, "1002", "rate limit"),
	faultUnpaid:  minimaxTaskError(http.StatusPaymentRequired, "1008", "insufficient balance"),
	faultError:   minimaxTaskError(http.StatusInternalServerError, "1000", "unknown error"),
	faultDown:    minimaxTaskError(http.StatusServiceUnavailable, "1001", "timeout"),
}

// minimaxTaskRoutes are those of MiniMax H3: videos, prompts and videos in 2K share the address of their status.
func (s *Server) minimaxTaskRoutes() {
	for path, kind := range map[string]string{
		"video_generation": "generation", "h3_context_ir": "h3_context_ir", "video_regeneration": "regeneration",
	} {
		s.handle("POST /minimax/v2/"+path, bearer, minimaxTaskRefusals.or(func(e *exchange) reply {
			return reply{status: http.StatusOK, charged: true, json: map[string]any{"task_id": e.submit(kind).id()}}
		}))
	}
	s.handle("GET /minimax/v2/query/video_generation/{id}", bearer, refusals{faultDown: minimaxTaskRefusals[faultDown]}.or(minimaxTask))
}

func minimaxTask(e *exchange) reply {
	t, found := e.ticket()
	if !found {
		return minimaxTaskError(http.StatusBadRequest, "2013", "invalid params, task_id")
	}
	task := map[string]any{
		"id": t.id(), "model": "MiniMax-H3", "status": "running", "task_type": t.Extra, "created_at": t.Ready/1000 - 1,
		"updated_at": e.now.Unix(),
	}
	switch {
	case !t.finished(e.now):
	case t.Fault == faultPolicy:
		task["status"], task["error"] = "failed", map[string]any{"code": "1027", "message": "output new_sensitive"}
	case t.Fault != "":
		task["status"], task["error"] = "failed", map[string]any{"code": "1000", "message": "unknown error"}
	case t.Extra == "h3_context_ir":
		task["status"], task["content"] = "succeeded", map[string]any{"prompt": "A simulated prompt."}
	default:
		task["status"], task["content"] = "succeeded", map[string]any{"url": e.file(t.Seed, "mp4")}
		task["usage"] = map[string]any{"total_seconds": 5, "input_seconds": 0, "output_seconds": 5}
	}
	return ok(map[string]any{"task": task})
}
