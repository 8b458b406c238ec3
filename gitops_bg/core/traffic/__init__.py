"""Where live traffic goes, and what stands in its way: gates, holds, promotion, the switch, the way back."""
