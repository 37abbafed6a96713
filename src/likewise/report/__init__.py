"""One page that shows what was learned: a single HTML file that needs nothing else."""

from likewise.report._write import check_report_path, write_report

__all__ = ["check_report_path", "write_report"]
